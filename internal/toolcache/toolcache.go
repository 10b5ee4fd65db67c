// Package toolcache keeps on disk which tools each server had, so that a program shows them at once when it starts
// again, before any server has answered. It is a hint: the server's own answer counts as soon as it is there. Of a
// server's configuration nothing is kept but a hash.
package toolcache

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"time"

	"mcpwire/internal/filecache"
	"mcpwire/mcp"
)

// Lifetime is how long an entry counts.
const Lifetime = 30 * 24 * time.Hour

// MaxSize is how large an entry may be in its file, in bytes.
const MaxSize = 32 << 20

// An Entry is what is known of a server.
type Entry struct {
	Tools        []mcp.Tool         // in the server's order, raw members byte for byte
	Revision     string             // of the protocol; empty if unknown
	Instructions string             // the server's hint for the model
	Info         mcp.Implementation // what the server calls itself
}

// A Cache is a folder with a file for each server. The zero Cache keeps nothing. It may be used by several goroutines
// and processes at once; of two that store at the same time one wins, whole.
type Cache struct{ files filecache.Cache }

// In returns the cache in a folder, which need not exist. The files are in its folder tools.
func In(folder string) Cache { return Cache{filecache.In(filepath.Join(folder, "tools"))} }

// Key returns the key of a server: by its name and a fingerprint of its configuration, which is a hash of the entry
// before anything in it is expanded. Without a fingerprint there is no key, and nothing is kept.
func Key(server, fingerprint string) string {
	if fingerprint == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(server + "\x00" + fingerprint)) // a fingerprint holds no NUL, so this is one-to-one
	return hex.EncodeToString(sum[:16])
}

// Load returns the entry that was stored under the key. There is none if nothing was stored or it is older than
// Lifetime, more than a day in the future, larger than MaxSize, damaged, of another format, or another key's. The raw
// members of the tools share memory.
func (c Cache) Load(key string) (e Entry, ok bool) {
	text, ok := c.files.Get(key, Lifetime, MaxSize)
	if !ok {
		return Entry{}, false
	}
	return decode(key, text)
}

// Store keeps the entry under the key. What is known already is not written again before half of its lifetime is over.
// An entry that is larger than MaxSize is an error; what was stored before is then gone too, since it no longer holds.
func (c Cache) Store(key string, e Entry) error {
	if key == "" {
		return nil
	}
	text, err := encode(key, e)
	if err != nil {
		_ = c.files.Drop(key)
		return err
	}
	return c.files.Renew(key, text, Lifetime)
}
