//go:build (dragonfly && cgo) || (freebsd && cgo) || linux || netbsd || openbsd

package auth

import (
	"errors"
	"fmt"
	"os"

	ss "github.com/zalando/go-keyring/secret_service"
)

// largestItem is how many bytes an item of the keychain may have. The desktop's has no limit of its own.
const largestItem = 64 << 10

var (
	errNoBus  = errors.New("there is no session bus")
	errLocked = errors.New("it is locked")
)

// hasKeychain reports whether there can be one. Without the address of a session bus the library would start one, or
// put the usual one into our environment.
func hasKeychain() bool {
	address := os.Getenv("DBUS_SESSION_BUS_ADDRESS")
	return address != "" && address != "autolaunch:"
}

// unlocked returns an error if the library would have to ask a person to unlock the keychain.
func unlocked() error {
	if !hasKeychain() {
		return errNoBus
	}
	service, err := ss.NewSecretService()
	if err != nil {
		return err
	}
	locked, err := service.GetLoginCollection().GetProperty("org.freedesktop.Secret.Collection.Locked")
	if err != nil {
		return fmt.Errorf("it can't be told whether it is locked: %w", err)
	}
	if is, ok := locked.Value().(bool); !ok || is {
		return errLocked
	}
	return nil
}
