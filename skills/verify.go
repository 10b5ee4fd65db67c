package skills

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"path"
	"strings"

	"mcpwire/mcp"
)

// manifest is the file that makes a folder a skill.
const manifest = "SKILL.md"

// Check returns a *VerifyError if an entry is not valid, or describes more than is loaded; nil otherwise. A host can so
// tell before anything is read (skills, skill entries, limits).
func Check(entry *mcp.Skill) error {
	root, ok := strings.CutSuffix(entry.URI, "/"+manifest)
	if !ok {
		return broken(entry.URI, "its URI must end with /%s", manifest)
	}
	about, err := readFrontmatter(entry.Frontmatter)
	switch {
	case err != nil:
		return broken(entry.URI, "%w", err)
	case path.Base(root) != about.Name:
		return broken(entry.URI, "the folder must be called %.100q, as the skill is", about.Name)
	case entry.Resources.Dynamic:
		return nil
	}
	if err := checkFiles(entry, root+"/"); err != nil {
		return broken(entry.URI, "%w", err)
	}
	return nil
}

func checkFiles(entry *mcp.Skill, root string) error {
	files := entry.Resources.Files
	if len(files) > MaxFiles {
		return fmt.Errorf("it has %d files; %d are allowed", len(files), MaxFiles)
	}
	seen, total := make(map[string]bool, len(files)), 0.0
	for i := range files {
		f := &files[i]
		switch {
		case !within(f.URI, root):
			return fmt.Errorf("the file %.200q is not within the skill", f.URI)
		case seen[f.URI]:
			return fmt.Errorf("the file %.200q is listed twice", f.URI)
		case !isDigest(f.Digest):
			return fmt.Errorf("the digest of %.200q is not sha256: and 64 digits", f.URI)
		case f.Size == nil || *f.Size < 0 || *f.Size != math.Trunc(*f.Size):
			return fmt.Errorf("the size of %.200q is missing, or is no number of bytes", f.URI)
		}
		seen[f.URI] = true
		total += *f.Size
	}
	switch {
	case !seen[entry.URI]:
		return fmt.Errorf("its files do not include %s", manifest)
	case total > MaxSize:
		return fmt.Errorf("its files have %.0f bytes together; %d are allowed", total, MaxSize)
	}
	return nil
}

// within reports whether a URI is that of a file in a folder, whose URI ends with a slash. One that climbs out of it,
// or may do so once somebody has decoded it, is not.
func within(uri, folder string) bool {
	rest, ok := strings.CutPrefix(uri, folder)
	if !ok || rest == "" || strings.ContainsAny(rest, "?#\\") {
		return false
	}
	for segment := range strings.SplitSeq(rest, "/") {
		plain := strings.NewReplacer("%2e", ".", "%2E", ".", "%2f", "/", "%2F", "/").Replace(segment)
		if plain == "" || plain == "." || plain == ".." || strings.Contains(plain, "/") {
			return false
		}
	}
	return true
}

func isDigest(text string) bool {
	digits, ok := strings.CutPrefix(text, "sha256:")
	return ok && len(digits) == hex.EncodedLen(sha256.Size) && strings.Trim(digits, "0123456789abcdef") == ""
}

// verify compares what was read of a file with what the entry says of it (skills, verification on read).
func verify(file mcp.SkillResource, data []byte) error {
	if float64(len(data)) != *file.Size {
		return broken(file.URI, "it has %d bytes instead of %.0f", len(data), *file.Size)
	}
	sum := sha256.Sum256(data)
	if got := "sha256:" + hex.EncodeToString(sum[:]); got != file.Digest {
		return broken(file.URI, "its digest is %s instead of %s", got, file.Digest)
	}
	return nil
}

func broken(uri, format string, args ...any) error {
	return &VerifyError{URI: uri, Err: fmt.Errorf(format, args...)}
}

func isBroken(err error) bool {
	_, is := errors.AsType[*VerifyError](err)
	return is
}
