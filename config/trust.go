package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// mostApprovals is how many approvals a trust store keeps, the newest.
const mostApprovals = 1000

// A TrustStore remembers which files of projects were approved, and with which content. A file that has changed is
// not approved any more, unless the content was approved before. It may be used by several goroutines and processes
// at once.
type TrustStore struct{ path string }

// OpenTrust returns the store in the file at path, which need not exist. An empty path is trust.json in the folder of
// StateDir. If the user's folder is not known, nothing is trusted and Approve fails.
func OpenTrust(path string) TrustStore {
	if path != "" {
		return TrustStore{path}
	}
	folder, err := StateDir()
	if err != nil {
		return TrustStore{}
	}
	return TrustStore{filepath.Join(folder, "trust.json")}
}

// approvals is what the store's file holds, oldest first.
type approvals struct {
	Approved []approval `json:"approved"`
}

type approval struct {
	Path   string `json:"path"`
	SHA256 string `json:"sha256"`
	At     string `json:"at"` // for people who read the file
}

// Trusted reports whether this very content was approved for the file at this absolute path. It is about what File
// holds, not about what the file may hold by now. A store that is missing or damaged trusts nothing, and none trusts a
// file whose path is not valid UTF-8.
func (t TrustStore) Trusted(f *File) bool {
	if t.path == "" || f.sum == "" {
		return false
	}
	text, err := readText(t.path, largest)
	if err != nil {
		return false
	}
	known, path := readApprovals(text), absolute(f.Path)
	return slices.ContainsFunc(known.Approved, func(a approval) bool { return a.Path == path && a.SHA256 == f.sum })
}

// Approve remembers this content of the file as trusted. The store keeps the newest 1,000 approvals, in a file that
// only the user may read. A damaged store is replaced. The error is a *Problem, or tells that the content or the
// store's place is not known, or that the file's path is not valid UTF-8.
func (t TrustStore) Approve(f *File) error {
	switch {
	case t.path == "":
		return errors.New("approvals can't be kept: the user's folder is not known")
	case f.sum == "":
		return errors.New("there is nothing to approve: the file was not read")
	}
	path := absolute(f.Path)
	if !utf8.ValidString(path) {
		return fmt.Errorf("%q can't be approved: its path is not valid UTF-8", path)
	}
	now := approval{path, f.sum, time.Now().UTC().Format(time.RFC3339)}
	return update(t.path, func(text []byte) ([]byte, error) {
		known := readApprovals(text)
		known.Approved = slices.DeleteFunc(known.Approved, func(a approval) bool {
			return a.Path == now.Path && a.SHA256 == now.SHA256
		})
		known.Approved = append(known.Approved, now)
		known.Approved = known.Approved[max(0, len(known.Approved)-mostApprovals):]
		text, err := json.Marshal(known, jsontext.Multiline(true), jsontext.WithIndent("  "))
		return append(text, '\n'), err
	})
}

// readApprovals returns what the store's text holds; nothing if it is damaged in any way.
func readApprovals(text []byte) approvals {
	var known approvals
	if json.Unmarshal(text, &known) != nil {
		return approvals{}
	}
	return known
}

// absolute returns the path of a file with links among its folders resolved. The file itself may be a link: it counts
// for where it stands, since its programs run there.
func absolute(path string) string {
	folder := folderOf(path)
	if resolved, err := filepath.EvalSymlinks(folder); err == nil {
		folder = resolved
	}
	return filepath.Join(folder, filepath.Base(path))
}
