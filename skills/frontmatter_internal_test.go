package skills

import (
	"strings"
	"testing"
)

func TestFrontMatterIsComparedValueByValue(t *testing.T) {
	for _, row := range []struct {
		yaml, json string
		want       bool
	}{
		{"a: x", `{"a":"x"}`, true},
		{"a: 'x'\nb: >\n  two\n  words\n", `{"b":"two words\n","a":"x"}`, true},
		{"a: 12", `{"a":12}`, true},
		{"a: 12", `{"a":12.0}`, true},
		{"a: 12", `{"a":"12"}`, false},
		{"a: -1.5e3", `{"a":-1500}`, true},
		{"a: yes", `{"a":"yes"}`, true},
		{"a: true", `{"a":true}`, true},
		{"a: true", `{"a":"true"}`, false},
		{"a:", `{"a":null}`, true},
		{"a: null", `{}`, false},
		{"a: 2026-07-28", `{"a":"2026-07-28"}`, true},
		{"a: 2026-07-28", `{"a":"2026-07-28T00:00:00.000Z"}`, true},
		{"a: 2026-07-28", `{"a":"2026-07-29"}`, false},
		{"a: [1, [x]]", `{"a":[1,["x"]]}`, true},
		{"a: [1, 2]", `{"a":[2,1]}`, false},
		{"a: {b: {c: 1}}", `{"a":{"b":{"c":1}}}`, true},
		{"a: {b: 1, c: 2}", `{"a":{"b":1}}`, false},
		{"a: &x [1]\nb: *x", `{"a":[1],"b":[1]}`, true},
		{"a: 1\na: 2", `{"a":2}`, false},
		{"a: .nan", `{"a":null}`, false},
		{"- a", `{}`, false},
		{"a: [", `{"a":[]}`, false},
		{"a: x", `{"a":"x","a":"x"}`, false},
	} {
		if err := compare(row.yaml, []byte(row.json)); (err == nil) != row.want {
			t.Errorf("%q and %s: %v", row.yaml, row.json, err)
		}
	}
}

func TestFrontMatterIsCutOff(t *testing.T) {
	for _, row := range []struct{ text, matter, body string }{
		{"---\na: 1\n---\nbody\n", "a: 1\n", "body\n"},
		{"---\r\na: 1\r\n---\r\nbody", "a: 1\r\n", "body"},
		{"---\n---", "", ""},
		{"--- \na: x---\n---\n---\n", "a: x---\n", "---\n"},
	} {
		if matter, body, err := split(row.text); err != nil || matter != row.matter || body != row.body {
			t.Errorf("%q: %q, %q, %v", row.text, matter, body, err)
		}
	}
	for _, text := range []string{"", "a", "\n---\na: 1\n---\n", "---", "---\na: 1\n", "----\n----\n"} {
		if matter, body, err := split(text); err == nil {
			t.Errorf("%q: %q, %q", text, matter, body)
		}
	}
}

// Whatever a server sends, all of it is front matter, body or the two fences.
func FuzzFrontmatter(f *testing.F) {
	f.Add("---\nname: a\n---\nbody", `{"name":"a"}`)
	f.Add("---\na: &x [1]\nb: *x\n---\n", `{"a":[1],"b":[1]}`)
	f.Fuzz(func(t *testing.T, text, entry string) {
		matter, body, err := split(text)
		if err != nil {
			return
		}
		if !strings.HasSuffix(text, body) || !strings.Contains(text, matter) || len(matter)+len(body) > len(text)-6 {
			t.Errorf("%q was cut into %q and %q", text, matter, body)
		}
		_ = compare(matter, []byte(entry))
	})
}
