package config_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/rogpeppe/go-internal/txtar"
	"github.com/tailscale/hujson"

	"mcpwire/config"
)

var seeds = []string{
	"", "{}", "\ufeff{\"mcpServers\": {}}", "// c", "{\"mcpServers\": {\"x\": {\"command\": \"c\", \"args\": [1,],},},} // end",
	"{\r\n\t\"mcpServers\": { // a\r\n\t\t\"a\": {\"url\": \"http://h//\"}, // b\r\n\t\t/* c */ \"x\": {\"disabled\": true} // d\r\n\t}\r\n}",
	`{"mcpServers": {"a": {"command": "c"} /*1*/ , /*2*/ "x": /*3*/ {"command": "c", /*4*/ "disabled" /*5*/ : true /*6*/ } /*7*/ }}`,
	`{"mcpServers": {"x": {"env": {"A": "1"}, "tools": {"allow": []}, "timeout": 3, "Cwd": 1}, "x": {}}, "other": [1, {"a": null}]}`,
	"{\"mcpServers\": {\n\"x\": {\n\"command\": \"c\"\n}\n,\n\"b\": {}\n}\n}", "{\"a\": \"\\q\"}", "{\"\\u006dcpServers\": {\"\\u0078\": {}}}",
	`{"mcpServers": {"x": {"url": "https://h", "auth": {"clientId": "${A}", "clientSecret": "s", "scope": "a ${A:-b c}", "callbackPort": 1, "flow": 2}}, "y": {"url": "h", "auth": "none"}}}`,
	"\xff\xfe{", "{\"a\": tru}", "{/*", "{\"mcpServers\":{\"x\":{\"disabled\":true},}}", "[]", "{\"mcpServers\":1}",
}

// FuzzRead checks that any text is read without panic, that problems have places in it, and that what is valid without
// comments is read as it is.
func FuzzRead(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		file, err := config.Parse("f", text)
		body := bytes.TrimPrefix(text, []byte("\ufeff"))
		valid := jsontext.Value(body).IsValid(jsontext.AllowDuplicateNames(true))
		if err != nil {
			p, ok := errors.AsType[*config.Problem](err)
			if !ok {
				t.Fatalf("got %T", err)
			}
			placed(t, body, config.Place{Path: p.Path, Line: p.Line, Column: p.Column})
			if valid && strings.Contains(p.Text, "not valid JSON") {
				t.Errorf("valid JSON is refused: %v", p)
			}
			return
		}
		if _, err := hujson.Parse(append(bytes.Clone(body), '\n')); err != nil && len(bytes.TrimSpace(body)) > 0 {
			t.Errorf("read, although %v", err)
		}
		for _, p := range file.Problems {
			placed(t, body, config.Place{Path: p.Path, Line: p.Line, Column: p.Column})
		}
		for _, s := range file.Servers {
			if _, err := s.Kind(); err != nil {
				t.Error(err)
			}
			for _, at := range s.Places {
				placed(t, body, at)
			}
			s.Fingerprint()
			s.Masked()
			_, _, _ = s.Expand(variables("A", "1"))
		}
	})
}

// placed checks that there is such a place in a text, its end included.
func placed(t *testing.T, text []byte, at config.Place) {
	t.Helper()
	lines := bytes.Split(text, []byte("\n"))
	if at.Path != "f" || at.Line < 1 || at.Line > len(lines) || at.Column < 1 ||
		at.Column > utf8.RuneCount(lines[at.Line-1])+1 {
		t.Errorf("%v is not in %q", at, text)
	}
}

// FuzzEdit checks that changes keep the other entries, all comments outside of what is changed, and all else but commas
// and white space.
func FuzzEdit(f *testing.F) {
	for _, seed := range seeds {
		f.Add([]byte(seed), "x")
		f.Add([]byte(seed), "new")
	}
	f.Fuzz(func(t *testing.T, text []byte, name string) {
		before, err := config.Parse("f", text)
		if err != nil {
			if _, err := config.Added(text, config.Server{Name: "n", Command: "c"}, true); err == nil {
				t.Error("a text that can't be parsed is changed")
			}
			return
		}
		name = strings.ToValidUTF8(name, "\ufffd")
		keepsText := func(after []byte, what string) {
			if !contains(dense(after), dense(text)) && len(bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))) > 0 {
				t.Errorf("%s: %q lost something: %q", what, text, after)
			}
		}
		if after, err := config.Added(text, config.Server{Name: name, Command: "c"}, false); err == nil && name != "" {
			same(t, before, after, name)
			keepsText(after, "add")
			back, err := config.Removed(after, name)
			if err != nil {
				t.Fatalf("what was added to %q can't be removed: %v", text, err)
			}
			same(t, before, back, name)
			keepsText(back, "add and remove")
		}
		if after, err := config.Added(text, config.Server{Name: name, Command: "c"}, true); err == nil && name != "" {
			same(t, before, after, name)
		}
		if after, err := config.Removed(text, name); err == nil {
			same(t, before, after, name)
			if !contains(text, after) {
				t.Errorf("remove: %q got something: %q", text, after)
			}
			if got, want := comments(t, after, ""), comments(t, text, name); !slices.Equal(got, want) {
				t.Errorf("remove: of %q the comments %q are left, want %q", text, got, want)
			}
		}
		if after, err := config.WithDisabled(text, name, true); err == nil {
			same(t, before, after, name)
			again, err := config.WithDisabled(after, name, true)
			if err != nil || !bytes.Equal(again, after) {
				t.Errorf("%q is changed again: %q, %v", after, again, err)
			}
		}
		if after, err := config.WithDisabled(text, name, false); err == nil {
			same(t, before, after, name)
		}
	})
}

// same checks that a text still holds the same servers but for one.
func same(t *testing.T, before *config.File, text []byte, but string) {
	t.Helper()
	after, err := config.Parse("f", text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	others := func(f *config.File) []config.Server {
		var out []config.Server
		for _, s := range f.Servers {
			if s.Name != but {
				s.Places = nil
				out = append(out, s)
			}
		}
		return out
	}
	if !reflect.DeepEqual(others(before), others(after)) {
		t.Errorf("other servers have changed in %q", text)
	}
}

// dense returns a text without white space and commas.
func dense(text []byte) []byte {
	return bytes.Map(func(c rune) rune {
		if strings.ContainsRune(" \t\r\n,", c) {
			return -1
		}
		return c
	}, text)
}

// contains reports whether all bytes of part stand in whole, in their order.
func contains(whole, part []byte) bool {
	for _, c := range whole {
		if len(part) > 0 && part[0] == c {
			part = part[1:]
		}
	}
	return len(part) == 0
}

// comments returns the comments of a text, but for those inside the entry of a name.
func comments(t *testing.T, text []byte, but string) []string {
	t.Helper()
	top, err := hujson.Parse(append(bytes.TrimPrefix(bytes.Clone(text), []byte("\ufeff")), '\n'))
	if err != nil {
		t.Fatal(err)
	}
	var extras []byte
	var walk func(v *hujson.Value, depth int)
	walk = func(v *hujson.Value, depth int) {
		extras = append(extras, v.BeforeExtra...)
		switch of := v.Value.(type) {
		case *hujson.Object:
			for i := range of.Members {
				m := &of.Members[i]
				name, _ := m.Name.Value.(hujson.Literal)
				if depth == 1 && but != "" && name.String() == but && in(top, v) {
					extras = append(append(extras, m.Name.BeforeExtra...), m.Value.AfterExtra...)
					continue
				}
				walk(&m.Name, depth+1)
				walk(&m.Value, depth+1)
			}
			extras = append(extras, of.AfterExtra...)
		case *hujson.Array:
			for i := range of.Elements {
				walk(&of.Elements[i], depth+1)
			}
			extras = append(extras, of.AfterExtra...)
		}
		extras = append(extras, v.AfterExtra...)
	}
	walk(&top, 0)
	var found []string
	for rest := extras; len(rest) > 0; {
		switch {
		case bytes.HasPrefix(rest, []byte("//")):
			line, behind, _ := bytes.Cut(rest, []byte("\n"))
			found, rest = append(found, strings.TrimRight(string(line), "\r")), behind
		case bytes.HasPrefix(rest, []byte("/*")):
			inner, behind, _ := bytes.Cut(rest[2:], []byte("*/"))
			found, rest = append(found, string(inner)), behind
		default:
			rest = rest[1:]
		}
	}
	return found
}

// in reports whether v is the object of servers.
func in(top hujson.Value, v *hujson.Value) bool {
	of, _ := top.Value.(*hujson.Object)
	return slices.ContainsFunc(of.Members, func(m hujson.ObjectMember) bool {
		name, _ := m.Name.Value.(hujson.Literal)
		return name.String() == "mcpServers" && m.Value.StartOffset == v.StartOffset
	})
}

// FuzzHosts checks that any text is read as a file of each other program without panic, that problems and values have
// places in it, and that what is read can be written into a file of ours and read there.
func FuzzHosts(f *testing.F) {
	files, err := filepath.Glob(filepath.Join("testdata", "hosts", "*.txtar"))
	if err != nil || files == nil {
		f.Fatal("there are no files to begin with")
	}
	for _, path := range files {
		archive, err := txtar.ParseFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(archive.Files[0].Data)
	}
	f.Add([]byte("\x10"))
	f.Add([]byte("mcp_servers.a.b.c.d = 1\n[[mcp_servers.x]]\n"))
	f.Add([]byte("[mcp_servers.x]\r\nenv = {A = \"1\"}\r\ncommand = '''\r\nc'''"))
	f.Fuzz(func(t *testing.T, text []byte) {
		body := bytes.TrimPrefix(text, []byte("\ufeff"))
		for _, h := range config.Hosts() {
			file, err := config.ParseHost(h.Name, text, len(text)%2 == 0)
			if err != nil {
				if _, ok := errors.AsType[*config.Problem](err); !ok {
					t.Fatalf("%s: got %T", h.Name, err)
				}
				continue
			}
			for _, p := range file.Problems {
				placed(t, body, config.Place{Path: p.Path, Line: p.Line, Column: p.Column})
			}
			for _, s := range file.Servers {
				for _, at := range s.Places {
					placed(t, body, at)
				}
				s.Fingerprint()
				s.Masked()
				_, _, _ = s.Expand(variables("A", "1"))
				if s.Name == "" || !utf8.ValidString(s.Name) {
					continue
				}
				written, err := config.Parse("f", []byte(config.EntriesText(s)))
				if err != nil || len(written.Servers) != 1 {
					t.Fatalf("%s: %+v can't be written: %v", h.Name, s, err)
				}
				if got := written.Servers[0]; got.Fingerprint() != s.Fingerprint() && utf8.Valid(text) {
					t.Errorf("%s: %+v is written as %+v", h.Name, s, got)
				}
			}
		}
	})
}
