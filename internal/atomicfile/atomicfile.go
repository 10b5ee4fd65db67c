// Package atomicfile replaces files whole: whoever reads one finds the old text or the new.
package atomicfile

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// Options say how a file is replaced. Draft is needed.
type Options struct {
	Draft   string      // begins the name of the file that is written first, beside the other; digits follow
	Mode    fs.FileMode // the permissions of the file; 0: those of a private one, 0600
	Sync    bool        // the text is on the disk before it replaces the old one
	OurTime bool        // the file's times are those of our clock, also on a file server
}

// Write writes text into a new file, which then gets the name path. After an error what was there still is, and no
// draft is left. A process that is killed may leave one behind.
func Write(path string, text []byte, o Options) error {
	file, err := os.CreateTemp(filepath.Dir(path), o.Draft+"*")
	if err != nil {
		return err
	}
	err = fill(file, text, o)
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		_ = os.Remove(file.Name()) // what can't be used must not lie about
	}
	return err
}

// fill writes the draft and closes it.
func fill(file *os.File, text []byte, o Options) error {
	_, err := file.Write(text)
	if err == nil && o.Mode != 0 {
		err = file.Chmod(o.Mode)
	}
	if err == nil && o.Sync {
		err = file.Sync()
	}
	err = errors.Join(err, file.Close())
	if err == nil && o.OurTime {
		now := time.Now()
		_ = os.Chtimes(file.Name(), now, now) // where that fails the times are good enough
	}
	return err
}
