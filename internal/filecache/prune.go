package filecache

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of a folder. A configuration that is changed leaves a file behind, which nobody asks for again.
const (
	// MaxAge is how long a file is left, whatever lifetime Get is called with.
	MaxAge = 30 * 24 * time.Hour
	// MaxFiles is how many files are left, the newest.
	MaxFiles = 1000
)

// maxWriting is how long writing a file may take. A temporary file that is older was left by a process that was killed.
const maxWriting = time.Hour

// pruned holds the folders that this process has pruned.
var pruned sync.Map

func (c Cache) pruneOnce() {
	if _, done := pruned.LoadOrStore(c.folder, true); !done {
		c.prune()
	}
}

// prune removes what is old. A file that another process renews just now may go too, which costs no more than finding
// out anew.
func (c Cache) prune() {
	entries, err := os.ReadDir(c.folder)
	if err != nil {
		return
	}
	var kept []os.FileInfo
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || !info.Mode().IsRegular() {
			continue // gone, or not ours
		}
		age := time.Since(info.ModTime())
		switch {
		case strings.HasPrefix(info.Name(), temporary):
			if age > maxWriting {
				c.remove(info)
			}
		case !isKey(info.Name()):
			continue
		case age > MaxAge, age < -maxAhead: // what is never found must not push out what is
			c.remove(info)
		default:
			kept = append(kept, info)
		}
	}
	if len(kept) <= MaxFiles {
		return
	}
	slices.SortFunc(kept, func(a, b os.FileInfo) int {
		return cmp.Or(b.ModTime().Compare(a.ModTime()), cmp.Compare(a.Name(), b.Name()))
	})
	for _, info := range kept[MaxFiles:] {
		c.remove(info)
	}
}

// remove removes a file. What can't be removed is left to the next process.
func (c Cache) remove(info os.FileInfo) { _ = os.Remove(filepath.Join(c.folder, info.Name())) }
