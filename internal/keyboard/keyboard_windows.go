package keyboard

import (
	"context"
	"os"
	"unsafe"

	"golang.org/x/sys/windows"
)

// read reads a line of the console. That ends with Enter alone, so that it is pressed when ctx is done.
func read(ctx context.Context, terminal *os.File, p []byte) (int, error) {
	var n int
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		n, err = terminal.Read(p)
	}()
	select {
	case <-done:
		return n, ended(n, err)
	case <-ctx.Done():
	}
	if pressEnter(terminal) {
		<-done
	} // else the read goes with the program
	return 0, context.Cause(ctx)
}

// ended returns the error of a read. Ctrl-Z is an io.EOF to the standard library.
func ended(n int, err error) error {
	if n > 0 {
		return nil
	}
	return err
}

// A keyEvent is an INPUT_RECORD of the console that holds a KEY_EVENT_RECORD.
type keyEvent struct {
	kind      uint16
	_         uint16
	down      int32
	repeated  uint16
	key       uint16
	scan      uint16
	character uint16
	modifiers uint32
}

var writeConsoleInput = windows.NewLazySystemDLL("kernel32.dll").NewProc("WriteConsoleInputW")

// pressEnter reports whether the key was pressed.
func pressEnter(terminal *os.File) bool {
	enter := keyEvent{kind: 1, down: 1, repeated: 1, key: 0x0d, character: '\r'} // KEY_EVENT, VK_RETURN
	var written uint32
	ok, _, _ := writeConsoleInput.Call(terminal.Fd(), uintptr(unsafe.Pointer(&enter)), 1,
		uintptr(unsafe.Pointer(&written)))
	return ok != 0 && written == 1
}

func forget(terminal *os.File) {
	_ = windows.FlushConsoleInputBuffer(windows.Handle(terminal.Fd()))
}
