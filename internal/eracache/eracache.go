// Package eracache remembers on disk which protocol revision each server was found to speak, so that an older server is
// not asked at every start whether it is a newer one. It is a hint: whoever uses it must find out anew if it proves
// wrong. Nothing of a server's configuration is kept but a hash.
package eracache

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Lifetime is how long an entry counts: a server may have been replaced by a newer one under the same configuration.
const Lifetime = 7 * 24 * time.Hour

// maxEntry bounds what is read of an entry, in bytes.
const maxEntry = 64

// A Cache is a folder with a file for each server. The zero Cache remembers nothing. It may be used by several
// goroutines and processes at once: files are replaced, never changed.
type Cache struct{ folder string }

// In returns the cache in a folder, which need not exist.
func In(folder string) Cache { return Cache{filepath.Join(folder, "eras")} }

// Key returns the key of a server: a hash of its configuration, before anything in it is expanded.
func Key(configuration any) string {
	text, err := json.Marshal(configuration, json.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return "" // remembers nothing
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16])
}

// Revision returns the revision that was remembered, or nothing.
func (c Cache) Revision(key string) string {
	if c.folder == "" || key == "" {
		return ""
	}
	path := filepath.Join(c.folder, key)
	info, err := os.Stat(path)
	if err != nil || info.Size() > maxEntry || time.Since(info.ModTime()) > Lifetime {
		return ""
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Remember remembers a revision. What is known already is not written again before half of its lifetime is over.
func (c Cache) Remember(key, revision string) error {
	if c.folder == "" || key == "" || revision == "" || len(revision) > maxEntry-1 {
		return nil
	}
	path := filepath.Join(c.folder, key)
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) < Lifetime/2 && c.Revision(key) == revision {
		return nil
	}
	if err := os.MkdirAll(c.folder, 0o700); err != nil {
		return err
	}
	file, err := os.CreateTemp(c.folder, ".new-*")
	if err != nil {
		return err
	}
	_, err = file.WriteString(revision + "\n")
	if closeErr := file.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // what can't be used must not lie about
	}
	return err
}
