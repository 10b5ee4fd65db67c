//go:build linux || darwin

package proc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

const (
	orphanWait  = 1500 * time.Millisecond // how long orphans may take to end when asked
	keepDamaged = 24 * time.Hour          // how long a file that holds no record stays
	keepForeign = 30 * 24 * time.Hour     // how long a record of another namespace stays
)

// A verdict is what is to be done about a record.
type verdict uint8

const (
	leave  verdict = iota // it is not ours to judge, or its host is there
	forget                // what it tells of has gone
	end                   // it tells of orphans
)

// An orphanage is a group that nobody else will end.
type orphanage struct {
	Orphan
	group *group
	entry entry
}

func (l Ledger) reap(ctx context.Context) ([]Orphan, error) {
	here := thisPlace()
	if here.Boot == "" {
		return nil, nil
	}
	err := l.trusted()
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	files, err := os.ReadDir(l.folder)
	if err != nil {
		return nil, err
	}
	var found []*orphanage
	var faults []error
	for _, file := range files {
		o, err := l.consider(file, here)
		switch {
		case err != nil:
			faults = append(faults, err)
		case o != nil:
			found = append(found, o)
		}
	}
	ended, err := endAll(ctx, found)
	return ended, errors.Join(append(faults, err)...)
}

// consider looks at one file of the folder. It returns the group that is to be ended, if that is what the file tells
// of, and removes the file if it is of no use.
func (l Ledger) consider(file fs.DirEntry, here place) (*orphanage, error) {
	if !ours().MatchString(file.Name()) || !file.Type().IsRegular() {
		return nil, nil
	}
	at := entry{filepath.Join(l.folder, file.Name())}
	r, err := l.read(file.Name())
	switch {
	case errors.Is(err, errDamaged):
		at.removeAfter(file, keepDamaged)
		return nil, nil
	case err != nil:
		return nil, nil //nolint:nilerr // it was removed meanwhile, or can't be read now
	case r.Boot == here.Boot && r.Space != here.Space:
		at.removeAfter(file, keepForeign)
		return nil, nil
	}
	switch r.judge(here) {
	case leave:
	case forget:
		at.remove()
	case end:
		o := &orphanage{Orphan{r.Pid, r.Command}, &group{id: r.Pid}, at}
		if errors.Is(unix.Kill(-r.Pid, 0), unix.EPERM) {
			return nil, fmt.Errorf("%w: %s", ErrStuck, o)
		}
		return o, nil
	}
	return nil, nil
}

func (e entry) removeAfter(file fs.DirEntry, age time.Duration) {
	if info, err := file.Info(); err == nil && time.Since(info.ModTime()) > age {
		e.remove()
	}
}

// judge tells what is to be done about a record of this place or of an earlier boot.
//
// The id of a group is not given to a new process while the group has members. So what has the leader's id is either
// the leader, or the group is not the one that was recorded. If the leader has ended, a group of its id can be its own
// or that of a later process that has ended as well; then session and age of the members tell.
func (r *record) judge(here place) verdict {
	switch {
	case r.Boot != here.Boot:
		return forget
	case r.Pid == unix.Getpgrp() || !r.Host.gone():
		return leave
	}
	all, ok := members(r.Pid)
	if !ok {
		return leave
	}
	running := slices.DeleteFunc(all, func(f facts) bool { return f.ended })
	if !free(r.Pid) {
		leader, ok := look(r.Pid)
		switch {
		case !ok:
			return leave
		case leader.birth != r.birth:
			return forget
		}
	} else if slices.ContainsFunc(running, func(f facts) bool { return f.session != r.Session || f.Start < r.Start }) {
		return forget
	}
	if len(running) == 0 {
		return forget
	}
	return end
}

// free reports whether no process has the id, not even one that waits to be reaped.
func free(pid int) bool { return errors.Is(unix.Kill(pid, 0), unix.ESRCH) }

// gone reports whether that process has ended, as far as can be told.
func (b birth) gone() bool {
	if free(b.Pid) {
		return true
	}
	now, ok := look(b.Pid)
	return ok && (now.ended || now.birth != b)
}

// endAll ends groups, and returns those that it has seen gone.
func endAll(ctx context.Context, all []*orphanage) ([]Orphan, error) {
	for _, o := range all {
		o.group.term()
	}
	left := awaitAll(ctx, orphanWait, all)
	if ctx.Err() == nil {
		for _, o := range left {
			o.group.kill()
		}
		awaitAll(ctx, killWait, left)
	}
	var ended []Orphan
	var stuck []error
	for _, o := range all {
		if o.group.gone {
			ended = append(ended, o.Orphan)
		} else {
			stuck = append(stuck, fmt.Errorf("%w: %s", ErrStuck, o))
		}
	}
	slices.SortFunc(ended, func(a, b Orphan) int { return cmp.Compare(a.Pid, b.Pid) })
	if stuck != nil && ctx.Err() != nil {
		return ended, context.Cause(ctx)
	}
	return ended, errors.Join(stuck...)
}

// awaitAll waits for d at most until the groups are gone, whose records it removes, and returns those that are left.
func awaitAll(ctx context.Context, d time.Duration, all []*orphanage) []*orphanage {
	timer := time.NewTimer(d)
	defer timer.Stop()
	poll := time.NewTicker(pollEvery)
	defer poll.Stop()
	left := slices.Clone(all)
	for {
		left = slices.DeleteFunc(left, (*orphanage).over)
		if len(left) == 0 {
			return nil
		}
		select {
		case <-poll.C:
		case <-timer.C:
			return left
		case <-ctx.Done():
			return left
		}
	}
}

// over reports whether nothing is left of the group, and removes its record then.
func (o *orphanage) over() bool {
	if !o.group.empty() {
		return false
	}
	o.entry.remove()
	return true
}

func (o *orphanage) String() string { return fmt.Sprintf("%s (process %d)", o.Command, o.Pid) }
