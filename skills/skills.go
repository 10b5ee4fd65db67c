// Package skills loads Agent Skills that an MCP server serves (extension io.modelcontextprotocol/skills), and verifies
// what it reads of them.
//
// client.Client lists skills and gets single entries, and reads nothing of them. Load reads the SKILL.md of one entry,
// when an agent needs it and not before, and Skill.Read its other files one by one. What is not exactly what the entry
// says is never handed out. That proves that entry and content fit together, and nothing about who wrote them: what is
// in a skill stays untrusted, and whether it is used is the user's decision (skills, security considerations).
package skills

import (
	"context"
	"fmt"
	"path"
	"strings"
	"sync"

	"mcpwire/mcp"
)

// What every host can be expected to load of one skill, and what Load takes at most (skills, limits).
const (
	MaxFiles = 512      // files, SKILL.md among them
	MaxSize  = 16 << 20 // bytes of all files together
)

// A Reader reads the resources of the server that serves the skill; *client.Client is one.
type Reader interface {
	// ReadResource returns the contents of a resource.
	ReadResource(ctx context.Context, uri string) (*mcp.ReadResourceResult, error)
	// ForgetResource has the next ReadResource ask the server, and reports whether anything had been kept.
	ForgetResource(uri string) bool
}

// Options are how a skill is loaded. The zero value works.
type Options struct {
	// AllowDynamic loads also skills whose files are made when they are read. Nothing can be verified of these but the
	// front matter, and no approval can be bound to their content.
	AllowDynamic bool
}

// A Skill is one that has been loaded: the entry that is held while somebody acts on it, and its SKILL.md (skills, the
// acting window). Its methods may be called from several goroutines at once.
type Skill struct {
	Entry mcp.Skill // what it was verified against; not to be changed
	Text  string    // the whole of SKILL.md, with the front matter
	Body  string    // Text behind the front matter

	server Reader
	files  map[string]mcp.SkillResource // by URI

	mu   sync.Mutex
	read int // bytes that were read of a dynamic skill
}

// Load reads and verifies the SKILL.md of an entry. It fails with a *VerifyError where the entry is not valid (see
// Check), is a dynamic one and o doesn't allow that, or where what was read isn't what the entry says; a new entry
// (client.GetSkill) helps if the skill has just changed. Other errors are those of server.
func Load(ctx context.Context, server Reader, entry mcp.Skill, o Options) (*Skill, error) {
	if err := Check(&entry); err != nil {
		return nil, err
	}
	if entry.Resources.Dynamic && !o.AllowDynamic {
		return nil, broken(entry.URI, "its files are made when they are read, so that nothing can be verified")
	}
	s := &Skill{Entry: entry, server: server, files: make(map[string]mcp.SkillResource, len(entry.Resources.Files))}
	for _, file := range entry.Resources.Files {
		s.files[file.URI] = file
	}
	contents, err := s.fetch(ctx, entry.URI)
	if err != nil {
		return nil, err
	}
	if contents.Text == nil {
		return nil, broken(entry.URI, "it is no text")
	}
	s.Text = *contents.Text
	matter, body, err := split(s.Text)
	if err == nil {
		err = compare(matter, entry.Frontmatter)
	}
	if err != nil {
		return nil, broken(entry.URI, "%w", err)
	}
	s.Body = body
	return s, nil
}

// Read reads and verifies a file of the skill: a URI, or a path relative to the skill's folder, such as
// "references/FORMS.md". A file that the entry does not list is a *VerifyError, whether or not the server has it,
// unless the skill is dynamic (skills, verification on read). Other errors are those of the server.
func (s *Skill) Read(ctx context.Context, ref string) (*mcp.ResourceContents, error) {
	uri, err := s.resolve(ref)
	if err != nil {
		return nil, err
	}
	return s.fetch(ctx, uri)
}

// resolve returns the URI of a file of the skill.
func (s *Skill) resolve(ref string) (string, error) {
	root := strings.TrimSuffix(s.Entry.URI, manifest)
	uri := ref
	if !strings.Contains(ref, "://") {
		clean := path.Clean(ref)
		if ref == "" || path.IsAbs(ref) || clean == "." || clean == ".." || strings.HasPrefix(clean, "../") {
			return "", broken(s.Entry.URI, "%.200q is no file within the skill", ref)
		}
		uri = root + clean
	}
	if s.Entry.Resources.Dynamic {
		if !within(uri, root) {
			return "", broken(uri, "it is not within the skill %s", s.Entry.URI)
		}
		return uri, nil
	}
	if _, listed := s.files[uri]; !listed {
		return "", broken(uri, "it is not listed among the files of the skill %s", s.Entry.URI)
	}
	return uri, nil
}

// fetch reads a file of the skill and verifies it. What the client had kept from before and doesn't fit is read anew.
func (s *Skill) fetch(ctx context.Context, uri string) (*mcp.ResourceContents, error) {
	contents, err := s.readOnce(ctx, uri)
	if isBroken(err) && s.server.ForgetResource(uri) {
		contents, err = s.readOnce(ctx, uri)
	}
	return contents, err
}

func (s *Skill) readOnce(ctx context.Context, uri string) (*mcp.ResourceContents, error) {
	result, err := s.server.ReadResource(ctx, uri)
	if err != nil {
		return nil, err
	}
	var found []*mcp.ResourceContents
	for i := range result.Contents {
		if result.Contents[i].URI == uri {
			found = append(found, &result.Contents[i])
		}
	}
	if len(found) != 1 {
		return nil, broken(uri, "the answer has its content %d times", len(found))
	}
	data, err := found[0].Bytes()
	if err != nil {
		return nil, broken(uri, "%w", err)
	}
	if s.Entry.Resources.Dynamic {
		return found[0], s.count(uri, len(data))
	}
	return found[0], verify(s.files[uri], data)
}

// count holds a dynamic skill to the size that others are held to by their entry.
func (s *Skill) count(uri string, size int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.read += size; s.read > MaxSize {
		return broken(uri, "more than %d bytes were read of the skill", MaxSize)
	}
	return nil
}

// A VerifyError tells that an entry or a file of a skill is not what it must be. Nothing of the file is to be used.
type VerifyError struct {
	URI string // of the file, or of the entry
	Err error  // what is wrong
}

// Error returns "skill <URI>: <what is wrong>".
func (e *VerifyError) Error() string { return fmt.Sprintf("skill %.300s: %v", e.URI, e.Err) }

// Unwrap returns what is wrong.
func (e *VerifyError) Unwrap() error { return e.Err }
