package doctor_test

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// elsewhere are the findings that those tell who don't examine a server.
var elsewhere = []string{"disabled", "not-approved"}

func TestThePageTellsOfEachFinding(t *testing.T) {
	page, err := os.ReadFile("../../docs/doctor.md")
	if err != nil {
		t.Fatal(err)
	}
	var told []string
	for row := range strings.Lines(string(page)) {
		first, _, isRow := strings.Cut(strings.TrimPrefix(row, "| `"), " |")
		if isRow && strings.HasPrefix(row, "| `") {
			told = append(told, regexp.MustCompile(`[a-z0-9-]{3,}`).FindAllString(first, -1)...)
		}
	}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	found := slices.Clone(elsewhere)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		ids := regexp.MustCompile(`(?:find\([A-Za-z]+,\s+|found\()"([a-z0-9-]+)"`)
		for _, match := range ids.FindAllStringSubmatch(string(text), -1) {
			found = append(found, match[1])
		}
	}
	for _, ids := range []*[]string{&told, &found} {
		slices.Sort(*ids)
		*ids = slices.Compact(*ids)
	}
	if !slices.Equal(told, found) {
		t.Errorf("the page tells of\n%q\nand there are\n%q", told, found)
	}
}
