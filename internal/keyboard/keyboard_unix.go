//go:build unix

package keyboard

import (
	"context"
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// read reads when there is something to read, unless ctx is done first.
func read(ctx context.Context, terminal *os.File, p []byte) (int, error) {
	if err := wait(ctx, terminal); err != nil {
		return 0, err
	}
	n, err := unix.Read(int(terminal.Fd()), p)
	if errors.Is(err, unix.EINTR) || errors.Is(err, unix.EAGAIN) {
		return read(ctx, terminal, p)
	}
	return max(n, 0), err
}

// wait returns nil when there is something to read. It uses select, since poll knows no terminals on macOS, and is
// woken by a pipe.
func wait(ctx context.Context, terminal *os.File) error {
	woken, waker, err := os.Pipe()
	if err != nil {
		return err
	}
	defer func() { _ = woken.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = waker.Close() })
	defer func() {
		if stop() {
			_ = waker.Close()
		}
	}()
	fd, wake := int(terminal.Fd()), int(woken.Fd())
	for ctx.Err() == nil {
		var ready unix.FdSet
		if highest := len(ready.Bits) * unix.NFDBITS; fd >= highest || wake >= highest {
			return errors.New("too many files are open to wait for a terminal")
		}
		ready.Set(fd)
		ready.Set(wake)
		switch _, err := unix.Select(max(fd, wake)+1, &ready, nil, nil, nil); {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case ready.IsSet(fd) && ctx.Err() == nil:
			return nil
		}
	}
	return context.Cause(ctx)
}
