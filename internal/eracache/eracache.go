// Package eracache remembers on disk which protocol revision each server was found to speak, so that an older server is
// not asked at every start whether it is a newer one. It is a hint: whoever uses it must find out anew if it proves
// wrong. Nothing of a server's configuration is kept but a hash.
package eracache

import (
	"path/filepath"
	"strings"
	"time"

	"mcpwire/internal/filecache"
)

// Lifetime is how long an entry counts: a server may have been replaced by a newer one under the same configuration.
const Lifetime = 7 * 24 * time.Hour

// maxEntry bounds what is read of an entry, in bytes.
const maxEntry = 64

// A Cache is a folder with a file for each server. The zero Cache remembers nothing. It may be used by several
// goroutines and processes at once.
type Cache struct{ files filecache.Cache }

// In returns the cache in a folder, which need not exist. Its keys are hashes in hexadecimal digits.
func In(folder string) Cache { return Cache{filecache.In(filepath.Join(folder, "eras"))} }

// Revision returns the revision that was remembered, or nothing.
func (c Cache) Revision(key string) string {
	text, ok := c.files.Get(key, Lifetime, maxEntry)
	if !ok {
		return ""
	}
	return strings.TrimSpace(string(text))
}

// Remember remembers a revision. What is known already is not written again before half of its lifetime is over.
func (c Cache) Remember(key, revision string) error {
	if key == "" || revision == "" || len(revision) > maxEntry-1 {
		return nil
	}
	return c.files.Renew(key, []byte(revision+"\n"), Lifetime)
}
