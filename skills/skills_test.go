package skills_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"mcpwire/mcp"
	"mcpwire/skills"
)

const (
	uri   = "skill://acme/pdf/SKILL.md"
	forms = "skill://acme/pdf/references/FORMS.md"
	text  = "---\nname: pdf\ndescription: Fills forms\nmetadata:\n  version: 1.0\n  tags: [a, b]\n---\n\n# PDF\n"
	about = `{"name":"pdf","description":"Fills forms","metadata":{"version":1.0,"tags":["a","b"]}}`
)

// A shelf serves files by URI, and keeps what it calls cached until it is forgotten.
type shelf struct {
	files  map[string]string
	cached map[string]string
	reads  []string
}

func (s *shelf) ReadResource(_ context.Context, uri string) (*mcp.ReadResourceResult, error) {
	s.reads = append(s.reads, uri)
	content, ok := s.cached[uri]
	if !ok {
		content, ok = s.files[uri]
	}
	if !ok {
		return nil, errors.New("no such resource")
	}
	return &mcp.ReadResourceResult{Contents: []mcp.ResourceContents{{URI: uri, Text: &content}}}, nil
}

func (s *shelf) ForgetResource(uri string) bool {
	_, kept := s.cached[uri]
	delete(s.cached, uri)
	return kept
}

func file(uri, content string) mcp.SkillResource {
	size := float64(len(content))
	return mcp.SkillResource{URI: uri, Digest: fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(content))), Size: &size}
}

func entry(frontmatter string, files ...mcp.SkillResource) mcp.Skill {
	return mcp.Skill{URI: uri, Frontmatter: json.RawMessage(frontmatter), Resources: mcp.SkillResources{Files: files}}
}

func whole() (*shelf, mcp.Skill) {
	return &shelf{files: map[string]string{uri: text, forms: "Forms."}},
		entry(about, file(uri, text), file(forms, "Forms."))
}

func load(t *testing.T, s *shelf, e mcp.Skill) *skills.Skill {
	t.Helper()
	skill, err := skills.Load(t.Context(), s, e, skills.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return skill
}

func TestASkillIsReadFileByFileWhenItIsNeeded(t *testing.T) {
	s, e := whole()
	skill := load(t, s, e)
	if skill.Body != "\n# PDF\n" || skill.Text != text || len(s.reads) != 1 {
		t.Errorf("body %q, text %q, read %q", skill.Body, skill.Text, s.reads)
	}
	for _, ref := range []string{forms, "references/FORMS.md", "./references/../references/FORMS.md"} {
		if got, err := skill.Read(t.Context(), ref); err != nil || *got.Text != "Forms." {
			t.Errorf("%s: %v", ref, err)
		}
	}
}

func TestWhatIsNotAsTheEntrySaysIsNotHandedOut(t *testing.T) {
	for _, row := range []struct{ name, served, frontmatter, want string }{
		{"another text", strings.Replace(text, "# PDF", "# Bad", 1), about, "its digest is sha256:"},
		{"a longer text", text + "x", about, fmt.Sprintf("it has %d bytes instead of %d", len(text)+1, len(text))},
		{"another field", text, strings.Replace(about, "Fills", "Steals", 1), `differs from that of its entry in "description"`},
		{"a field more in the file", text, `{"name":"pdf","description":"Fills forms"}`, `in "metadata"`},
		{"a field less in the file", text, strings.Replace(about, "{", `{"license":"MIT",`, 1), `in "license"`},
		{"a nested field", text, strings.Replace(about, "1.0", `"1.0"`, 1), `in "metadata"`},
		{"a shorter list", text, strings.Replace(about, `,"b"`, "", 1), `in "metadata"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := &shelf{files: map[string]string{uri: row.served}}
			skill, err := skills.Load(t.Context(), s, entry(row.frontmatter, file(uri, text)), skills.Options{})
			if _, is := errors.AsType[*skills.VerifyError](err); !is || skill != nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestAFileThatTheEntryDoesNotListIsNotRead(t *testing.T) {
	s, e := whole()
	s.files["skill://acme/pdf/new.md"] = "new"
	s.files["skill://acme/other/SKILL.md"] = "other"
	s.files[forms] = "Changed."
	skill := load(t, s, e)
	for ref, read := range map[string]int{
		"new.md": 0, "skill://acme/pdf/new.md": 0, "../other/SKILL.md": 0, "skill://acme/other/SKILL.md": 0, "/etc/passwd": 0,
		"": 0, ".": 0, forms: 1,
	} {
		before := len(s.reads)
		got, err := skill.Read(t.Context(), ref)
		if _, is := errors.AsType[*skills.VerifyError](err); !is || len(s.reads)-before != read {
			t.Errorf("%q: %v, %v, %d reads", ref, got, err, len(s.reads)-before)
		}
	}
}

func TestWhatWasKeptFromBeforeIsReadAnewIfItDoesNotFit(t *testing.T) {
	s, e := whole()
	s.cached = map[string]string{uri: "---\nname: pdf\n---\nold"}
	if skill := load(t, s, e); skill.Text != text || len(s.reads) != 2 {
		t.Errorf("read %q: %q", s.reads, skill.Text)
	}
}

func TestADynamicSkillIsLoadedOnlyIfThatIsAllowed(t *testing.T) {
	s, e := whole()
	e.Resources = mcp.SkillResources{Dynamic: true}
	if _, err := skills.Load(t.Context(), s, e, skills.Options{}); err == nil || len(s.reads) != 0 {
		t.Errorf("it was loaded, or read: %v, %q", err, s.reads)
	}
	skill, err := skills.Load(t.Context(), s, e, skills.Options{AllowDynamic: true})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := skill.Read(t.Context(), "references/FORMS.md"); err != nil || *got.Text != "Forms." {
		t.Error(err)
	}
	if _, err := skill.Read(t.Context(), "skill://acme/other/SKILL.md"); err == nil {
		t.Error("a file of elsewhere was read")
	}
	s.files["skill://acme/pdf/big"] = strings.Repeat("x", skills.MaxSize)
	if _, err := skill.Read(t.Context(), "big"); err == nil {
		t.Error("more was read than is allowed")
	}
}

func TestAnEntryIsCheckedBeforeAnythingIsRead(t *testing.T) {
	digest := file(uri, text).Digest
	for _, row := range []struct{ name, entry, want string }{
		{"no resources", `{"uri":"` + uri + `","frontmatter":` + about + `}`, "do not include SKILL.md"},
		{"another file", `{"uri":"skill://acme/pdf/README.md"}`, "must end with /SKILL.md"},
		{"another folder", `{"uri":"skill://acme/doc/SKILL.md","frontmatter":` + about + `}`, `the folder must be called "pdf"`},
		{"no front matter", `{"uri":"` + uri + `"}`, "front matter can't be read"},
		{"no description", `{"uri":"` + uri + `","frontmatter":{"name":"pdf"}}`, "a name and a description"},
		{"elsewhere", files(`"skill://acme/other/x"`, digest, "1"), `"skill://acme/other/x" is not within`},
		{"upwards", files(`"skill://acme/pdf/../other/x"`, digest, "1"), "is not within"},
		{"upwards in other letters", files(`"skill://acme/pdf/%2E%2e/other/x"`, digest, "1"), "is not within"},
		{"a folder", files(`"skill://acme/pdf/"`, digest, "1"), "is not within"},
		{"twice", files(`"`+uri+`"`, digest, "1"), "is listed twice"},
		{"another digest", files(`"skill://acme/pdf/x"`, strings.ToUpper(digest), "1"), "is not sha256:"},
		{"no size", files(`"skill://acme/pdf/x"`, digest, "null"), "is missing"},
		{"half a byte", files(`"skill://acme/pdf/x"`, digest, "0.5"), "is no number of bytes"},
		{"too large", files(`"skill://acme/pdf/x"`, digest, "16777216"), "16777216 are allowed"},
		{"too many", files(`"skill://acme/pdf/x"`+strings.Repeat(`},{"uri":"skill://acme/pdf/x"`, 511), digest, "1"), "512 are allowed"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var e mcp.Skill
			if err := mcp.Decode([]byte(row.entry), &e); err != nil {
				t.Fatal(err)
			}
			s := &shelf{files: map[string]string{uri: text}}
			_, err := skills.Load(t.Context(), s, e, skills.Options{})
			if err == nil || !strings.Contains(err.Error(), row.want) || len(s.reads) != 0 {
				t.Errorf("got %v, want %q; read %q", err, row.want, s.reads)
			}
		})
	}
}

// files is an entry with a further file.
func files(uriText, digest, size string) string {
	return fmt.Sprintf(`{"uri":%q,"frontmatter":%s,"resources":[{"uri":%[1]q,"digest":%[3]q,"size":%[4]d},`+
		`{"uri":%[5]s,"digest":%[6]q,"size":%[7]s}]}`, uri, about, file(uri, text).Digest, len(text), uriText, digest, size)
}

func TestAnEntryOfTheGreatestSizeIsValid(t *testing.T) {
	list := []mcp.SkillResource{file(uri, text)}
	for i := range skills.MaxFiles - 1 {
		list = append(list, file(fmt.Sprintf("skill://acme/pdf/%d", i), ""))
	}
	rest := float64(skills.MaxSize - len(text))
	list[1].Size = &rest
	e := entry(about, list...)
	if err := skills.Check(&e); err != nil {
		t.Error(err)
	}
}
