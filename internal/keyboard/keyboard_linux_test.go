package keyboard_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"mcpwire/internal/keyboard"
)

// open returns a terminal, and what types on it.
func open(t *testing.T) (terminal, typist *os.File) {
	t.Helper()
	typist, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skip(err)
	}
	fd := int(typist.Fd())
	number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	terminal, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = terminal.Close()
		_ = typist.Close()
	})
	return terminal, typist
}

func press(t *testing.T, typist *os.File, keys string) {
	t.Helper()
	if _, err := typist.WriteString(keys); err != nil {
		t.Fatal(err)
	}
}

func TestLinesComeOneByOne(t *testing.T) {
	terminal, typist := open(t)
	press(t, typist, "one\n\ntwo ☃\nhalf\x04 a line\n\x04three\n")
	for _, want := range []string{"one", "", "two ☃", "half a line"} {
		if line, err := keyboard.Line(t.Context(), terminal); line != want || err != nil {
			t.Errorf("%q, %v instead of %q", line, err, want)
		}
	}
	if line, err := keyboard.Line(t.Context(), terminal); !errors.Is(err, io.EOF) {
		t.Errorf("the end of the input is %q, %v", line, err)
	}
	if line, err := keyboard.Line(t.Context(), terminal); line != "three" || err != nil {
		t.Errorf("behind the end of the input there is %q, %v", line, err)
	}
}

func TestAReadThatIsNotWantedAnyMoreTakesNothing(t *testing.T) {
	terminal, typist := open(t)
	enough := errors.New("enough")
	for range 20 {
		ctx, cancel := context.WithCancelCause(t.Context())
		ended := make(chan error)
		go func() {
			_, err := keyboard.Line(ctx, terminal)
			ended <- err
		}()
		cancel(enough)
		if err := <-ended; !errors.Is(err, enough) {
			t.Fatalf("it ended with %v", err)
		}
	}
	press(t, typist, "a line\n")
	if line, err := keyboard.Line(t.Context(), terminal); line != "a line" || err != nil {
		t.Errorf("the next one reads %q, %v", line, err)
	}
}

func TestWhatWasTypedBeforeIsForgotten(t *testing.T) {
	terminal, typist := open(t)
	press(t, typist, "before\nhalf ")
	keyboard.Forget(terminal)
	press(t, typist, "after\n")
	if line, err := keyboard.Line(t.Context(), terminal); line != "after" || err != nil {
		t.Errorf("%q, %v", line, err)
	}
}

func TestALineIsBounded(t *testing.T) {
	terminal, typist := open(t)
	state, err := unix.IoctlGetTermios(int(terminal.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	state.Lflag &^= unix.ICANON | unix.ECHO // one that edits lines takes no long ones anyway
	if err := unix.IoctlSetTermios(int(terminal.Fd()), unix.TCSETS, state); err != nil {
		t.Fatal(err)
	}
	written := make(chan struct{})
	go func() {
		defer close(written)
		for range keyboard.Longest/1024 + 1 {
			_, _ = typist.WriteString(strings.Repeat("x", 1024))
		}
	}()
	if line, err := keyboard.Line(t.Context(), terminal); !errors.Is(err, keyboard.ErrTooLong) {
		t.Errorf("%d bytes, %v", len(line), err)
	}
	<-written
}
