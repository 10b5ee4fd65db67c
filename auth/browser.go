package auth

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"mcpwire/internal/proc"
)

const (
	// browserPatience is how long a browser may take to fail. One that runs on has been opened.
	browserPatience = 2 * time.Second
	// longestAddress is how many bytes of an address are given to a browser.
	longestAddress = 16 << 10
)

// OpenBrowser shows an address in the person's browser: the one that $BROWSER names, which is a list with colons
// between (but on Windows), each a command whose %s stands for the address, else what the system has for it. The
// program is started without a shell, apart from our terminal, and goes on when we end. The address must be one of
// https, or of http on this machine, without a login, and all of its characters such as a URL may have. It returns when
// the browser runs, after 2 s at most, or with ctx. The error says that there is no browser, or why none could be
// started.
func OpenBrowser(ctx context.Context, address string) error {
	if err := checkAddress(address); err != nil {
		return err
	}
	var faults []error
	for _, command := range browsers() {
		err := openWith(ctx, command, address)
		if err == nil || ctx.Err() != nil {
			return context.Cause(ctx)
		}
		faults = append(faults, err)
	}
	return fmt.Errorf("no browser could be opened: %w", errors.Join(faults...))
}

// checkAddress tells why an address is not shown in a browser. It does not repeat it: it may be long, or hostile.
func checkAddress(address string) error {
	u, err := url.Parse(address)
	switch {
	case len(address) > longestAddress:
		return fmt.Errorf("the address has more than %d bytes", longestAddress)
	case strings.ContainsFunc(address, notInURL), err != nil:
		return errors.New("the address is no URL")
	case u.User != nil:
		return errors.New("the address has a login in it")
	case u.Hostname() == "":
		return errors.New("the address has no host")
	case u.Scheme == "https", u.Scheme == "http" && isLoopback(u.Hostname()):
		return nil
	}
	return errors.New("the address is neither one of https nor one of http on this machine")
}

// notInURL reports characters that no URL has (RFC 3986, section 2).
func notInURL(c rune) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return !letter && (c > '~' || !strings.ContainsRune("-._~:/?#[]@!$&'()*+,;=%", c))
}

// browsers lists the commands that may open a browser, the first choice first.
func browsers() (commands [][]string) {
	chosen := []string{os.Getenv("BROWSER")}
	if runtime.GOOS != "windows" {
		chosen = filepath.SplitList(chosen[0])
	}
	for _, one := range chosen {
		words := strings.Fields(one)
		if _, err := os.Stat(one); err == nil { // a path with blanks in it
			words = []string{one}
		}
		if len(words) > 0 {
			commands = append(commands, words)
		}
	}
	if commands != nil {
		return commands
	}
	switch runtime.GOOS {
	case "windows":
		return [][]string{{"rundll32", "url.dll,FileProtocolHandler"}}
	case "darwin":
		return [][]string{{"open"}}
	}
	return [][]string{{"xdg-open"}}
}

// openWith starts one browser.
func openWith(ctx context.Context, command []string, address string) error {
	const place = "%s"
	words := append([]string{}, command[1:]...)
	if !strings.Contains(strings.Join(words, " "), place) {
		words = append(words, place)
	}
	for i, word := range words {
		words[i] = strings.ReplaceAll(word, place, address)
	}
	ended, err := proc.Launch(proc.Spec{Command: command[0], Args: words})
	if err != nil {
		return err
	}
	timer := time.NewTimer(browserPatience)
	defer timer.Stop()
	select {
	case state := <-ended:
		if state.Signal != "" {
			return fmt.Errorf("%s was ended by %s", command[0], state.Signal)
		}
		if state.Code != 0 {
			return fmt.Errorf("%s failed with exit status %d", command[0], state.Code)
		}
		return nil
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
