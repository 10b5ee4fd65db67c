package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/internal/atomicfile"
)

// ErrUnreadable is what Load's error wraps if there is a record and it can't be read whole: its file is damaged, or
// its secrets are in a keychain that can't be asked. Load then also returns what it has, without secrets. Saving
// another record over it is possible, which a new login does; a refresh must not.
var ErrUnreadable = errors.New("what was kept of a login can't be read")

// StoreOptions say how OpenStore keeps records. The zero value keeps everything in files.
type StoreOptions struct {
	// Keychain gets the secrets: tokens, and what clients prove themselves with. What it doesn't take stays in the
	// files, as all does if it is nil. Programs for people pass SystemKeychain.
	Keychain Keychain
}

// OpenStore returns the store in a folder, which is made when something is kept. The folder is the store's own: only
// its user may look into it, and into each file (elsewhere than on Windows, where the folder above decides). A key is
// a hash in lower-case hexadecimal digits, at most 128; others are refused.
//
// A record is a file, which is replaced whole. Where there is a keychain the secrets are one item in it, and both
// bear the mark of the Save that wrote them: an item that is missing or bears another mark is never used, and the
// record then comes without tokens and without the clients that have a secret.
//
// Files of locks (KEY.NAME.lock) are never removed, not even by Delete: somebody may just have opened one, and would
// then hold a lock that nobody else sees. They are empty. A lock is the kernel's, so a dead process holds none.
//
// ctx bounds how long Save and Delete wait for each other. What they have begun they finish, so that file and keychain
// fit together; it takes some seconds at most.
func OpenStore(folder string, o StoreOptions) Store {
	return &fileStore{folder: folder, keychain: newVault(o.Keychain)}
}

type fileStore struct {
	folder   string
	keychain *vault // nil: none
	gates    gates
}

// A kept is what a file holds.
type kept struct {
	Record

	Keychain *itemRef       `json:"keychain,omitzero"` // where the secrets are; nil: they stand in the record
	Later    jsontext.Value `json:",embed"`            // members of later versions, which are left alone
}

// An itemRef is what a file tells of the item in the keychain.
type itemRef struct {
	Mark    string   `json:"mark"`              // the item bears the same
	Clients []string `json:"clients,omitempty"` // the issuers of the registrations that have a secret
}

const (
	longestKey  = 128     // digits: SHA-512
	largestFile = 1 << 20 // bytes; what is larger is not ours

	windowsHold = time.Second // how long a file may be in somebody's hands
	windowsWait = 10 * time.Millisecond
)

// Load implements Store.
func (s *fileStore) Load(ctx context.Context, key string) (Record, error) {
	path, err := s.path(key)
	if err != nil {
		return Record{}, err
	}
	if ctx.Err() != nil {
		return Record{}, context.Cause(ctx)
	}
	r, err := s.read(ctx, path, key)
	if !errors.Is(err, errOtherMark) {
		return r, err
	}
	// Either somebody is just between the keychain and the file, and with the lock we come before or after; or the two
	// never belonged together.
	unlock, err := s.Lock(ctx, key, saveLock)
	if err != nil {
		return Record{}, err
	}
	defer unlock()
	r, err = s.read(ctx, path, key)
	if errors.Is(err, errOtherMark) {
		return r, nil
	}
	return r, err
}

// read reads a record's file and its item in the keychain. The error is errOtherMark if they don't belong together.
func (s *fileStore) read(ctx context.Context, path, key string) (Record, error) {
	f, err := readKept(path)
	if err != nil || f.Keychain == nil {
		return f.Record, err
	}
	return s.keychain.open(ctx, path, key, f)
}

// Save implements Store.
func (s *fileStore) Save(ctx context.Context, key string, r Record) error {
	path, err := s.path(key)
	if err != nil {
		return err
	}
	unlock, err := s.Lock(ctx, key, saveLock)
	if err != nil {
		return err
	}
	defer unlock()
	s.removeDrafts(key)
	old, oldErr := readKept(path) // if that fails all of it is replaced
	f := kept{Record: r, Later: old.Later}
	if rest, ref, ok := s.keychain.put(key, r); ok {
		f.Record, f.Keychain = rest, ref
	}
	text, err := json.Marshal(f, jsontext.WithIndent("  "))
	if err != nil {
		return fmt.Errorf("a login can't be kept: %w", err)
	}
	err = patiently(func() error {
		return atomicfile.Write(path, append(text, '\n'), atomicfile.Options{Draft: draftName(key), Sync: true})
	})
	if err != nil {
		return fmt.Errorf("a login can't be kept: %w", err)
	}
	if f.Keychain == nil && (old.Keychain != nil || oldErr != nil) {
		_ = s.keychain.remove(key) // a remnant that no file points to does no harm
	}
	return nil
}

// Delete implements Store. An error also tells that secrets are left in a keychain that can't be asked.
func (s *fileStore) Delete(ctx context.Context, key string) error {
	path, err := s.path(key)
	if err != nil {
		return err
	}
	unlock, err := s.Lock(ctx, key, saveLock)
	if err != nil {
		return err
	}
	defer unlock()
	s.removeDrafts(key)
	f, _ := readKept(path) // a damaged one may point to the keychain or not
	err = patiently(func() error { return os.Remove(path) })
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("a login can't be removed: %w", err)
	}
	if err := s.keychain.remove(key); err != nil && f.Keychain != nil {
		return fmt.Errorf("the login was removed, but its tokens are left in the system's keychain, "+
			"as %q of %q: %w", key, keychainService, err)
	}
	return nil
}

// path returns the key's file.
func (s *fileStore) path(key string) (string, error) {
	if err := checkKey(key); err != nil {
		return "", err
	}
	return filepath.Join(s.folder, key+".json"), nil
}

func checkKey(key string) error {
	if key == "" || len(key) > longestKey || strings.Trim(key, "0123456789abcdef") != "" {
		return fmt.Errorf("%q is no key of a login", key)
	}
	return nil
}

// makeFolder makes the folder. One that others may look into, as a backup that was unpacked, is closed to them.
func (s *fileStore) makeFolder() error {
	if err := os.MkdirAll(s.folder, 0o700); err != nil {
		return err
	}
	info, err := os.Stat(s.folder)
	if err == nil && runtime.GOOS != "windows" && info.Mode().Perm()&0o077 != 0 {
		_ = os.Chmod(s.folder, 0o700) // where there are no permissions the files have none either
	}
	return err
}

// draftName begins the names of a key's file while it is written.
func draftName(key string) string { return "." + key + ".new-" }

// removeDrafts removes what a writer that was killed has left: there are tokens in it. It needs the lock of writers.
func (s *fileStore) removeDrafts(key string) {
	entries, _ := os.ReadDir(s.folder)
	for _, e := range entries {
		if strings.HasPrefix(e.Name(), draftName(key)) {
			_ = os.Remove(filepath.Join(s.folder, e.Name())) // what can't be removed is left to the next writer
		}
	}
}

// readKept reads a file. If there is none it returns nothing.
func readKept(path string) (f kept, err error) {
	var text []byte
	err = patiently(func() error {
		text, err = readBounded(path)
		return err
	})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return kept{}, nil
	case errors.Is(err, errNotOurs) || err == nil && json.Unmarshal(text, &f) != nil: // whose error would quote tokens
		return kept{}, fmt.Errorf("%w: %s is damaged: log in again, which replaces it", ErrUnreadable, path)
	case err != nil:
		return kept{}, fmt.Errorf("a login can't be read: %w", err)
	}
	return f, nil
}

var errNotOurs = errors.New("no file of ours")

func readBounded(path string) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: a pipe would wait
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errNotOurs
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, largestFile+1))
	if len(text) > largestFile {
		return nil, errNotOurs
	}
	return text, err
}

// patiently runs f again for a moment on Windows, where a file can't be replaced while somebody reads it, nor read
// while it is being replaced.
func patiently(f func() error) error {
	err := f()
	if runtime.GOOS != "windows" {
		return err
	}
	end := time.Now().Add(windowsHold)
	for err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, errNotOurs) && time.Now().Before(end) {
		time.Sleep(windowsWait)
		err = f()
	}
	return err
}
