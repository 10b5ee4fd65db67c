package readable

import (
	"errors"
	"os"
	"sync"

	"golang.org/x/sys/unix"
)

var (
	mu     sync.Mutex
	shared *poller // nil: nothing is watched
)

// A poller is an epoll instance, which the runtime polls in turn. It exists while there is something to watch.
type poller struct {
	epoll   int
	file    *os.File // the same
	watches map[int32]*Watch
	last    int32 // the last Watch's id
}

// open returns the poller, which it makes if there is none. The lock is held.
func open() *poller {
	if shared != nil {
		return shared
	}
	epoll, err := unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	if err != nil {
		return nil
	}
	if err := unix.SetNonblock(epoll, true); err != nil {
		unix.Close(epoll)
		return nil
	}
	p := &poller{epoll: epoll, file: os.NewFile(uintptr(epoll), "epoll"), watches: make(map[int32]*Watch)}
	raw, err := p.file.SyscallConn()
	if err != nil {
		p.file.Close()
		return nil
	}
	shared = p
	go func() {
		_ = raw.Read(p.dispatch) // until the file is closed
	}()
	return p
}

// dispatch has run called for what can be read. It is called again when there is more, and never ends.
func (p *poller) dispatch(uintptr) (end bool) {
	mu.Lock()
	defer mu.Unlock()
	var events [16]unix.EpollEvent
	for p == shared {
		n, err := unix.EpollWait(p.epoll, events[:], 0)
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case n <= 0:
			return false
		}
		for _, event := range events[:n] {
			if w := p.watches[event.Fd]; w != nil && w.armed {
				w.armed = false
				go w.run()
			}
		}
	}
	return true
}

func watch(fd int, run func()) *Watch {
	mu.Lock()
	defer mu.Unlock()
	p := open()
	if p == nil {
		return nil
	}
	for p.last++; p.watches[p.last] != nil; p.last++ { // after four billions it begins anew
		continue
	}
	w := &Watch{fd: fd, run: run, at: p, id: p.last}
	p.watches[w.id] = w
	return w
}

func (w *Watch) arm() bool {
	mu.Lock()
	defer mu.Unlock()
	if w.closed {
		return false
	}
	how := unix.EPOLL_CTL_ADD
	if w.added {
		how = unix.EPOLL_CTL_MOD
	}
	event := unix.EpollEvent{Events: unix.EPOLLIN | unix.EPOLLRDHUP | unix.EPOLLONESHOT, Fd: w.id}
	if unix.EpollCtl(w.at.epoll, how, w.fd, &event) != nil {
		return false
	}
	w.added, w.armed = true, true
	return true
}

func (w *Watch) end() (due bool) {
	due, last := w.remove()
	if last {
		w.at.file.Close() // it waits for dispatch, which needs the lock
	}
	return due
}

// remove reports whether run was due, and whether there is nothing left to watch.
func (w *Watch) remove() (due, last bool) {
	mu.Lock()
	defer mu.Unlock()
	if w.closed {
		return false, false
	}
	due = w.armed
	w.armed, w.closed = false, true
	if w.added {
		// Closing the file would not do while a process that is being started has a copy of it.
		_ = unix.EpollCtl(w.at.epoll, unix.EPOLL_CTL_DEL, w.fd, nil)
	}
	delete(w.at.watches, w.id)
	if last = len(w.at.watches) == 0; last {
		shared = nil
	}
	return due, last
}
