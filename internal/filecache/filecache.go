// Package filecache keeps short texts in files: what is known of a server and can be found out anew. Whoever uses it
// must do without it, and must check what it gets: a file may have been changed by anybody.
package filecache

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"mcpwire/internal/atomicfile"
)

// maxKey is the longest key, in characters: a SHA-512 in hexadecimal digits.
const maxKey = 128

// maxAhead is how far in the future a file may seem to have been written: clocks are set back, and some file systems
// keep local time. What lies further ahead would count for ever.
const maxAhead = 24 * time.Hour

// A Cache is a folder with a file for each key. The zero Cache keeps nothing. It may be used by several goroutines and
// processes at once: files are replaced, never changed. A key is a hash in lower-case hexadecimal digits, so that it is
// the name of a file everywhere and tells nothing; under any other key nothing is found.
type Cache struct{ folder string }

// In returns the cache in a folder, which need not exist. The folder is the cache's own.
func In(folder string) Cache { return Cache{folder} }

// UserFolder returns our folder in the user's folder for caches, in which each cache has a folder of its own; empty if
// the user's is not known.
func UserFolder() string {
	base, err := os.UserCacheDir()
	if err != nil {
		return ""
	}
	return filepath.Join(base, "mcpwire")
}

// Get returns what was put under the key, whole. It finds nothing if there is no such file, if it was put longer than
// lifetime or more than a day in the future ago, if it is larger than limit bytes, or if it can't be read.
func (c Cache) Get(key string, lifetime time.Duration, limit int64) (text []byte, ok bool) {
	path, ok := c.path(key)
	if !ok {
		return nil, false
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, false
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil || !info.Mode().IsRegular() || info.Size() > limit || !fresh(info, lifetime) {
		return nil, false
	}
	text = make([]byte, info.Size())
	if _, err := io.ReadFull(file, text); err != nil {
		return nil, false
	}
	return text, true
}

// Put keeps the text under the key, in place of what was there. After an error what was there still is; on Windows it
// may also fail because somebody reads that just now. A process's first Put into a folder also removes what is old; see
// MaxAge and MaxFiles.
func (c Cache) Put(key string, text []byte) error {
	if c.folder == "" {
		return nil
	}
	path, ok := c.path(key)
	if !ok {
		return fmt.Errorf("%q is no key of a cache", key)
	}
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return err
	}
	c.pruneOnce()
	// A file server's clock may differ from ours.
	return atomicfile.Write(path, text, atomicfile.Options{Draft: temporary, OurTime: true})
}

// Renew is Put, which writes nothing if that very text was put under the key and is younger than half of lifetime.
func (c Cache) Renew(key string, text []byte, lifetime time.Duration) error {
	if known, ok := c.Get(key, lifetime/2, int64(len(text))); ok && bytes.Equal(known, text) {
		return nil
	}
	return c.Put(key, text)
}

// Drop removes what was put under the key. That there is nothing is no error.
func (c Cache) Drop(key string) error {
	path, ok := c.path(key)
	if !ok {
		return nil
	}
	if err := os.Remove(path); !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}

// path returns the key's file. There is none in the zero Cache.
func (c Cache) path(key string) (path string, ok bool) {
	return filepath.Join(c.folder, key), c.folder != "" && isKey(key)
}

func isKey(name string) bool {
	return name != "" && len(name) <= maxKey && strings.Trim(name, "0123456789abcdef") == ""
}

func fresh(info os.FileInfo, lifetime time.Duration) bool {
	age := time.Since(info.ModTime())
	return -maxAhead <= age && age <= lifetime
}

// temporary begins the names of files that are being written.
const temporary = ".new-"
