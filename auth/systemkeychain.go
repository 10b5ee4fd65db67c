package auth

import (
	"context"
	"errors"
	"fmt"

	"github.com/zalando/go-keyring"
)

// SystemKeychain returns the keychain of the user's system, nil if there is none: the login keychain on macOS, the
// credential manager on Windows, and elsewhere the Secret Service of the desktop (GNOME Keyring, KWallet, KeePassXC),
// if DBUS_SESSION_BUS_ADDRESS names a session bus. The connection to it stays open as long as the process lives.
//
// It shows no dialogue of its own. A locked Secret Service is seen to be locked, and not asked; but one may have been
// set up to ask its user about each program (KeePassXC can be). macOS asks for the password if the keychain is locked
// and there is a screen to do it on, which can't be told beforehand: the dialogue may stay when we have given up.
// Windows never asks.
func SystemKeychain() Keychain {
	if !hasKeychain() {
		return nil
	}
	return systemKeychain{}
}

type systemKeychain struct{}

// Get implements Keychain.
func (systemKeychain) Get(key string) (string, error) {
	if err := unlocked(); err != nil {
		return "", err
	}
	text, err := keyring.Get(keychainService, key)
	return text, named(err)
}

// Set implements Keychain.
func (systemKeychain) Set(key, text string) error {
	if len(text) > largestItem {
		return fmt.Errorf("%d bytes are more than the %d that it takes", len(text), largestItem)
	}
	if err := unlocked(); err != nil {
		return err
	}
	return named(keyring.Set(keychainService, key, text))
}

// Delete implements Keychain.
func (systemKeychain) Delete(key string) error {
	if err := unlocked(); err != nil {
		return err
	}
	return named(keyring.Delete(keychainService, key))
}

func named(err error) error {
	if errors.Is(err, keyring.ErrNotFound) {
		return ErrNoItem
	}
	return err
}

// secretService is the service of what people have put into the keychain for us. It is not that of our items, so that
// no entry can name one of those.
const secretService = "mcpwire-secret"

// secretVault asks for what people have put there.
var secretVault = newVault(secretKeychain{})

// KeychainSecret returns the text that the user has put into the keychain of the system under a name: the password of
// the service mcpwire-secret whose account (or username) it is. It waits three seconds at most.
func KeychainSecret(ctx context.Context, name string) (string, error) {
	if !hasKeychain() {
		return "", errNone
	}
	text, err := ask(ctx, secretVault, func(k Keychain) (string, error) { return k.Get(name) })
	if errors.Is(err, ErrNoItem) {
		return "", fmt.Errorf("there is no such account of the service %s", secretService)
	}
	return text, err
}

// secretKeychain reads the service of people.
type secretKeychain struct{ Keychain }

// Get implements Keychain.
func (secretKeychain) Get(name string) (string, error) {
	if err := unlocked(); err != nil {
		return "", err
	}
	text, err := keyring.Get(secretService, name)
	return text, named(err)
}
