package auth

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/gofrs/flock"
)

// saveLock is held while a record's file and its item in the keychain are changed. Whoever has it waits for no other.
const saveLock Lock = "save"

// lockInterval is how often a lock that somebody holds is tried again.
const lockInterval = 25 * time.Millisecond

// Lock implements Store. Within the process a gate comes first, which nobody has to poll and which orders memory, as a
// file's lock does not. Every call opens the file anew, so that two stores of one process exclude each other too.
func (s *fileStore) Lock(ctx context.Context, key string, lock Lock) (unlock func(), err error) {
	if err := checkLock(key, lock); err != nil {
		return nil, err
	}
	leave, err := s.gates.enter(ctx, key, lock)
	if err != nil {
		return nil, err
	}
	l, err := s.lockFile(ctx, key+"."+string(lock)+".lock")
	if err != nil {
		leave()
		return nil, err
	}
	return func() {
		_ = l.Unlock() // the file is closed in any case that there is
		leave()
	}, nil
}

func (s *fileStore) lockFile(ctx context.Context, name string) (*flock.Flock, error) {
	if err := s.makeFolder(); err != nil {
		return nil, fmt.Errorf("logins can't be locked: %w", err)
	}
	// File servers lock for writing only what may be written.
	l := flock.New(filepath.Join(s.folder, name), flock.SetFlag(os.O_CREATE|os.O_RDWR))
	if _, err := l.TryLockContext(ctx, lockInterval); err != nil {
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, fmt.Errorf("a login can't be locked: %w", err)
	}
	return l, nil
}

// gates are the locks within the process, by key and lock. The zero gates are open.
type gates struct{ held sync.Map } // of chan struct{}, which holds something while somebody has it

func (g *gates) enter(ctx context.Context, key string, lock Lock) (leave func(), err error) {
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	held, _ := g.held.LoadOrStore(key+"."+string(lock), make(chan struct{}, 1))
	gate := held.(chan struct{}) //nolint:errcheck,forcetypeassert // nothing else is stored
	select {
	case gate <- struct{}{}:
		return func() { <-gate }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

func checkLock(key string, lock Lock) error {
	if err := checkKey(key); err != nil {
		return err
	}
	if lock == "" || strings.Trim(string(lock), "abcdefghijklmnopqrstuvwxyz") != "" {
		return fmt.Errorf("%q is no lock of a login", lock)
	}
	return nil
}
