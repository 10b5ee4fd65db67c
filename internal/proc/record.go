//go:build linux || darwin

package proc

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"

	"github.com/go-json-experiment/json"

	"mcpwire/internal/atomicfile"
)

// A record tells of a running process what is needed to know it again.
type record struct {
	birth
	Session int    `json:"session"` // 0: one of another namespace
	Command string `json:"command"` // the base name
	Host    birth  `json:"host"`    // who started it
	place
}

// A birth names a process for as long as the system runs: ids come again, but not at the same time.
type birth struct {
	Pid   int    `json:"pid"`
	Start uint64 `json:"start"` // in a unit of the system
}

// A place is where ids of processes mean something.
type place struct {
	Boot  string `json:"boot"`            // the id of this run of the system
	Space string `json:"space,omitempty"` // the namespace of process ids, where there are such
}

// facts are what the system tells of a process.
type facts struct {
	birth
	group, session int
	ended          bool // it only waits to be reaped
}

func (r *record) name() string { return fmt.Sprintf("%d-%d.json", r.Pid, r.Start) }

// maxRecord bounds what is read of a record, in bytes.
const maxRecord = 4096

const draftName = ".new-" // begins the names of records that are being written

// ours matches the names of the files that a ledger writes. Others in its folder are not touched.
var ours = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+-[0-9]+\.json|\.new-[0-9]+)$`)
})

// An entry is the record of one process of ours.
type entry struct{ path string } // "": there is none

// enter records a process, which has not been reaped.
func (l Ledger) enter(command string, pid int) entry {
	if l.folder == "" {
		return entry{}
	}
	here := thisPlace()
	if here.Boot == "" {
		return entry{}
	}
	process, found := look(pid)
	host, self := look(os.Getpid())
	if !found || !self {
		return entry{}
	}
	r := &record{
		birth: process.birth, Session: process.session, Command: filepath.Base(command), Host: host.birth, place: here,
	}
	path := filepath.Join(l.folder, r.name())
	if err := l.write(r, path); err != nil {
		return entry{}
	}
	return entry{path}
}

func (e entry) remove() {
	if e.path != "" {
		_ = os.Remove(e.path) // if it stays, it tells of a process that has gone, and the next Reap removes it
	}
}

// write writes a record under another name first, so that nobody finds half of it.
func (l Ledger) write(r *record, path string) error {
	text, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(l.folder, 0o700); err != nil {
		return err
	}
	if err := l.trusted(); err != nil {
		return err
	}
	return atomicfile.Write(path, text, atomicfile.Options{Draft: draftName})
}

var errNotTrusted = errors.New("it belongs to another user, or others may write to it")

// trusted returns an error unless the folder is one in which nobody else can have written: who can write a record can
// have processes killed. The error is fs.ErrNotExist if there is none.
func (l Ledger) trusted() error {
	info, err := os.Stat(l.folder)
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok || int(owner.Uid) != os.Geteuid() || info.Mode().Perm()&0o022 != 0 {
		return &fs.PathError{Op: "use", Path: l.folder, Err: errNotTrusted}
	}
	return nil
}

var errDamaged = errors.New("this is no record")

// read reads the record in a file of that name. The error is errDamaged if there is none in it.
func (l Ledger) read(name string) (*record, error) {
	path := filepath.Join(l.folder, name)
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxRecord {
		return nil, errDamaged
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var r record
	if json.Unmarshal(text, &r) != nil || !r.valid() || r.name() != name {
		return nil, errDamaged
	}
	return &r, nil
}

func (r *record) valid() bool {
	return r.Pid > 1 && r.Start > 0 && r.Session >= 0 && r.Host.Pid > 0 && r.Host.Start > 0 && r.Boot != ""
}
