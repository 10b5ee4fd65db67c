//go:build unix

package auth_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"mcpwire/auth"
	"mcpwire/internal/proc/proctest"
)

// script makes an executable script.
func script(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "browser")
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+text+"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	return path
}

// written waits for what a script has written into a file.
func written(t *testing.T, path string) string {
	t.Helper()
	var text []byte
	if !proctest.Within(10*time.Second, func() bool {
		text, _ = os.ReadFile(path) // it may not be there yet
		return strings.HasSuffix(string(text), "\n")
	}) {
		t.Fatal("nothing was written")
	}
	return string(text)
}

func TestABrowserIsStartedWithoutAShell(t *testing.T) {
	const address = "https://as.example.com/a?x=$(id)&y='z';w=*"
	for _, row := range []struct{ name, browser, want string }{
		{"the address last", "BROWSER --new", "--new|" + address},
		{"in place of the mark", "BROWSER --at=%s --new", "--at=" + address + "|--new"},
		{"the second where the first is missing", "no-such-cmd:BROWSER", address},
		{"the second where the first fails", "false:BROWSER", address},
		{"the first only", "BROWSER 1:BROWSER 2", "1|" + address},
	} {
		t.Run(row.name, func(t *testing.T) {
			proctest.NoLeaks(t)
			out := filepath.Join(t.TempDir(), "out")
			browser := script(t, `echo to the terminal; IFS="|"; echo "$*" >>"`+out+`"`)
			t.Setenv("BROWSER", strings.ReplaceAll(row.browser, "BROWSER", browser))
			if err := auth.OpenBrowser(t.Context(), address); err != nil {
				t.Fatal(err)
			}
			if got := written(t, out); got != row.want+"\n" {
				t.Errorf("it got %q, want %q", got, row.want)
			}
		})
	}
}

func TestABrowserThatRunsOnIsLeftAlone(t *testing.T) {
	proctest.NoLeaks(t)
	folder := t.TempDir()
	out, end := filepath.Join(folder, "out"), filepath.Join(folder, "end")
	t.Setenv("BROWSER", script(t, `echo >"`+out+`"; until [ -e "`+end+`" ]; do sleep 0.05; done; echo >>"`+end+`"`))
	ctx, cancel := context.WithCancelCause(t.Context())
	go func() {
		written(t, out)
		cancel(errors.New("the login is over"))
	}()
	if err := auth.OpenBrowser(ctx, "https://as.example.com"); err == nil || err.Error() != "the login is over" {
		t.Errorf("got %v", err)
	}
	if err := os.WriteFile(end, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	written(t, end) // it goes on, and is reaped then
}

func TestABrowserThatFailsIsTold(t *testing.T) {
	proctest.NoLeaks(t)
	for _, row := range []struct{ browser, want string }{
		{script(t, "exit 4"), "failed with exit status 4"},
		{script(t, "kill -9 $$"), "was ended by SIGKILL"},
		{"no-such-cmd", `command "no-such-cmd" not found in PATH`},
	} {
		t.Setenv("BROWSER", row.browser)
		err := auth.OpenBrowser(t.Context(), "https://as.example.com")
		if err == nil || !strings.HasPrefix(err.Error(), "no browser could be opened: ") ||
			!strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: got %v", row.browser, err)
		}
	}
}

func TestOnlyAddressesOfTheWebAreOpened(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	t.Setenv("BROWSER", script(t, `echo "$1" >>"`+out+`"`))
	for _, address := range []string{
		"", "file:///etc/passwd", "javascript:alert(1)", "as.example.com", "--help", "http://as.example.com/",
		"http://127.0.0.1.example.com/", "https://", "https:as.example.com", "https://me:secret@as.example.com/",
		"https://as.example.com/\n", "https://as.example.com/ x", "https://as.example.com/\"", "https://as.example.com/\\",
		"https://as.example.com/`id`", "https://as.example.com/ü", "https://as.example.com/%zz", "ftp://127.0.0.1/",
		"https://as.example.com/" + strings.Repeat("x", 16<<10),
	} {
		err := auth.OpenBrowser(t.Context(), address)
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v", address, err)
		}
	}
	if text, err := os.ReadFile(out); err == nil {
		t.Errorf("opened: %s", text)
	}
	for _, address := range []string{
		"https://as.example.com", "http://127.0.0.1:1/a", "http://[::1]:1", "http://localhost:1/",
	} {
		if err := auth.OpenBrowser(t.Context(), address); err != nil {
			t.Errorf("%q: %v", address, err)
		}
	}
}
