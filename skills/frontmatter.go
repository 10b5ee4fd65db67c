package skills

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v4"
)

// A Frontmatter is what hosts show of a skill before they load it. The rest of the front matter is in the entry;
// nothing in it grants anything, such as the tools that "allowed-tools" names (skills, security considerations).
type Frontmatter struct {
	Name        string `json:"name"`
	Description string `json:"description"`
}

// About returns what an entry's front matter says, without checking it; empty where it says nothing.
func About(frontmatter json.RawMessage) Frontmatter {
	var f Frontmatter
	_ = jsonv2.Unmarshal(frontmatter, &f) // what is wrong with it, Check tells
	return f
}

func readFrontmatter(text json.RawMessage) (Frontmatter, error) {
	var f Frontmatter
	if err := jsonv2.Unmarshal(text, &f); err != nil {
		return f, fmt.Errorf("its front matter can't be read: %w", err)
	}
	if f.Name == "" || f.Description == "" {
		return f, errors.New("its front matter must have a name and a description")
	}
	return f, nil
}

// split cuts a SKILL.md into the YAML between two lines of "---", which it must begin with, and what follows.
func split(text string) (matter, body string, err error) {
	first, rest, _ := strings.Cut(text, "\n")
	if !isFence(first) {
		return "", "", errors.New("it does not begin with front matter")
	}
	for at := 0; ; {
		line, behind, more := strings.Cut(rest[at:], "\n")
		switch {
		case isFence(line):
			return rest[:at], behind, nil
		case !more:
			return "", "", errors.New("its front matter does not end")
		}
		at += len(line) + 1
	}
}

func isFence(line string) bool { return strings.TrimRight(line, " \t\r") == "---" }

// compare returns in which fields the front matter of a file differs from that of the entry (skills, front matter
// verification).
func compare(matter string, entry json.RawMessage) error {
	var read, listed map[string]any
	if err := yaml.Unmarshal([]byte(matter), &read); err != nil {
		return fmt.Errorf("its front matter can't be read: %w", err)
	}
	if err := jsonv2.Unmarshal(entry, &listed); err != nil {
		return fmt.Errorf("the front matter of its entry can't be read: %w", err)
	}
	var differ []string
	for name, value := range read {
		other, ok := listed[name]
		if !ok || !same(value, other) {
			differ = append(differ, fmt.Sprintf("%.60q", name))
		}
	}
	for name := range listed {
		if _, ok := read[name]; !ok {
			differ = append(differ, fmt.Sprintf("%.60q", name))
		}
	}
	if differ == nil {
		return nil
	}
	slices.Sort(differ)
	return fmt.Errorf("its front matter differs from that of its entry in %s", strings.Join(differ, ", "))
}

// same reports whether a value of YAML is one of JSON.
func same(y, j any) bool {
	switch y := y.(type) {
	case map[string]any:
		j, ok := j.(map[string]any)
		if !ok || len(j) != len(y) {
			return false
		}
		for name, value := range y {
			if other, ok := j[name]; !ok || !same(value, other) {
				return false
			}
		}
		return true
	case []any:
		j, ok := j.([]any)
		return ok && slices.EqualFunc(y, j, same)
	case time.Time:
		return sameTime(y, j)
	case int:
		return float64(y) == j
	case int64:
		return float64(y) == j
	case uint64:
		return float64(y) == j
	case float64, string, bool, nil:
		return y == j
	}
	return false
}

// sameTime is for dates, which JSON has as text in one of several forms.
func sameTime(y time.Time, j any) bool {
	text, ok := j.(string)
	if !ok {
		return false
	}
	for _, form := range []string{time.DateOnly, time.RFC3339Nano, time.DateTime} {
		if t, err := time.Parse(form, text); err == nil {
			return t.Equal(y)
		}
	}
	return false
}
