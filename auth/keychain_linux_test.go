package auth_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"

	"mcpwire/auth"
	"mcpwire/transport/transporttest"
)

func init() {
	roles["secret service, open"] = func() { serveSecrets(false) }
	roles["secret service, locked"] = func() { serveSecrets(true) }
	roles["use the keychain"] = useKeychain
}

const (
	secretsPath    = dbus.ObjectPath("/org/freedesktop/secrets")
	collectionPath = secretsPath + "/collection/login"
	itemPath       = collectionPath + "/1"
)

// A secret is what the Secret Service API calls so.
type secret struct {
	Session           dbus.ObjectPath
	Parameters, Value []byte
	ContentType       string
}

// A secretService is a desktop's keychain with one item at most. It writes a line for each call.
type secretService struct {
	locked bool
	item   []byte
}

func say(what string) *dbus.Error {
	fmt.Fprintln(os.Stdout, what)
	return nil
}

func (s *secretService) OpenSession(string, dbus.Variant) (dbus.Variant, dbus.ObjectPath, *dbus.Error) {
	return dbus.MakeVariant(""), secretsPath + "/session/1", nil
}

func (s *secretService) Unlock(
	what []dbus.ObjectPath,
) (unlocked []dbus.ObjectPath, prompt dbus.ObjectPath, _ *dbus.Error) {
	if s.locked {
		return nil, secretsPath + "/prompt/1", say("prompt")
	}
	return what, "/", nil
}

func (s *secretService) SearchItems(map[string]string) ([]dbus.ObjectPath, *dbus.Error) {
	if s.item == nil {
		return nil, nil
	}
	return []dbus.ObjectPath{itemPath}, nil
}

func (s *secretService) CreateItem(
	_ map[string]dbus.Variant, item secret, _ bool,
) (path, prompt dbus.ObjectPath, _ *dbus.Error) {
	s.item = item.Value
	return itemPath, "/", say("create")
}

func (s *secretService) GetSecret(session dbus.ObjectPath) (secret, *dbus.Error) {
	return secret{Session: session, Value: s.item}, say("get")
}

func (s *secretService) Delete() (prompt dbus.ObjectPath, _ *dbus.Error) {
	s.item = nil
	return "/", say("delete")
}

func (s *secretService) Close() *dbus.Error { return nil }

// Get is that of properties.
func (s *secretService) Get(_, name string) (dbus.Variant, *dbus.Error) {
	if name == "Locked" {
		return dbus.MakeVariant(s.locked), nil
	}
	return dbus.MakeVariant([]dbus.ObjectPath{collectionPath}), nil
}

// serveSecrets is a Secret Service on the session bus until its input ends.
func serveSecrets(locked bool) {
	bus, err := dbus.ConnectSessionBus()
	if err != nil {
		panic(err)
	}
	s := &secretService{locked: locked}
	for _, of := range []struct {
		path dbus.ObjectPath
		name string
	}{
		{secretsPath, "Service"},
		{collectionPath, "Collection"},
		{itemPath, "Item"},
		{secretsPath + "/session/1", "Session"},
	} {
		for _, name := range []string{"org.freedesktop.Secret." + of.name, "org.freedesktop.DBus.Properties"} {
			if err := bus.Export(s, of.path, name); err != nil {
				panic(err)
			}
		}
	}
	reply, err := bus.RequestName("org.freedesktop.secrets", 0)
	if err != nil || reply != dbus.RequestNameReplyPrimaryOwner {
		panic(fmt.Sprint(reply, err))
	}
	_ = say("ready")
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// useKeychain keeps a record with the system's keychain, and says where its secrets are before it deletes it.
func useKeychain() {
	folder := os.Getenv(folderVariable)
	s := auth.OpenStore(folder, auth.StoreOptions{Keychain: auth.SystemKeychain()})
	ctx := context.Background()
	for _, word := range []string{"one", "two"} {
		if err := s.Save(ctx, key, record(word)); err != nil {
			fmt.Fprintln(os.Stdout, err)
		}
		if r, err := s.Load(ctx, key); err != nil || r.Login.AccessToken != "access-"+word {
			fmt.Fprintln(os.Stdout, "loaded", r, err)
		}
	}
	text, err := os.ReadFile(filepath.Join(folder, key+".json"))
	fmt.Fprintln(os.Stdout, "in the file:", strings.Contains(string(text), "access-two"), err)
	if err := s.Delete(ctx, key); err != nil {
		fmt.Fprintln(os.Stdout, err)
	}
}

// background starts a command that ends when its input does, and returns its first line and the rest of its output.
func background(t *testing.T, cmd *exec.Cmd) (first string, rest func() string) {
	t.Helper()
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended
		_ = cmd.Wait()
	})
	lines := bufio.NewReader(out)
	if first, err = lines.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(first), func() string {
		_ = in.Close()
		text, err := io.ReadAll(lines)
		if err != nil {
			t.Error(err)
		}
		return string(text)
	}
}

func TestTheDesktopsKeychainIsUsedIfItIsOpen(t *testing.T) {
	daemon, err := exec.LookPath("dbus-daemon")
	if err != nil {
		t.Skip("there is no dbus-daemon")
	}
	sockets := t.TempDir() // its name is shorter than those below, as a socket's must be
	for _, row := range []struct{ service, calls, said string }{
		{"secret service, open", "create\nget\ncreate\nget\ndelete\n", "in the file: false <nil>\n"},
		{"secret service, locked", "", "in the file: true <nil>\n"}, // and nobody is prompted
		{"", "", "in the file: true <nil>\n"},
	} {
		t.Run(row.service, func(t *testing.T) {
			transporttest.CheckLeaks(t)
			folder := t.TempDir()
			bus := dbus.EscapeBusAddressValue(sockets)
			config := filepath.Join(folder, "bus.conf")
			if err := os.WriteFile(config, []byte(`<busconfig>
<type>session</type><listen>unix:tmpdir=`+bus+`</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*"/><allow receive_sender="*"/><allow own="*"/></policy>
</busconfig>`), 0o600); err != nil {
				t.Fatal(err)
			}
			address, _ := background(t, exec.Command(daemon, "--config-file="+config, "--nofork", "--print-address"))
			t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
			calls := func() string { return "" }
			if row.service != "" {
				_, calls = background(t, again(t, row.service, folder))
			}
			said, err := again(t, "use the keychain", folder).Output()
			if err != nil || string(said) != row.said {
				t.Errorf("got %q, %v, want %q", said, err, row.said)
			}
			if got := calls(); got != row.calls {
				t.Errorf("the service was asked for %q, want %q", got, row.calls)
			}
		})
	}
}

func TestWithoutABusThereIsNoKeychain(t *testing.T) {
	for _, address := range []string{"", "autolaunch:"} {
		t.Setenv("DBUS_SESSION_BUS_ADDRESS", address)
		if k := auth.SystemKeychain(); k != nil {
			t.Errorf("with %q there is %v", address, k)
		}
	}
}
