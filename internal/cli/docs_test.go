package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpwire/config"
)

// The commands of these pages are run, one block after the other, in a folder for each page, which is the user's too.
// Where a page begins with a configuration, that is the user's.
func TestTheExamplesOfThePagesWork(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	for page, least := range map[string]int{
		"asking": 1, "batch": 2, "import": 2, "install": 2, "machine-logins": 1, "shell": 2, "skills": 2, "trace": 2, "watch": 2,
	} {
		t.Run(page, func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(filepath.Join("..", "..", "docs", page+".md"))
			if err != nil {
				t.Fatal(err)
			}
			dir, ran := t.TempDir(), 0
			if entries, _, ok := block(string(text), "json"); ok && strings.Contains(entries, "mcpServers") {
				write(t, filepath.Join(dir, "mcpwire", "mcp.json"), entries)
			}
			if answers, _, ok := block(string(text), "jsonc"); ok && page == "asking" {
				write(t, filepath.Join(dir, "answers.json"), answers)
			}
			for commands, rest, ok := block(string(text), "sh"); ok; commands, rest, ok = block(rest, "sh") {
				cmd := exec.Command(sh, "-e", "-c", commands)
				cmd.Dir = dir
				cmd.Env = append(os.Environ(), raceOptions, "HOME="+dir, "USERPROFILE="+dir, "APPDATA="+dir,
					"XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v\n%s", commands, err, out)
				}
				ran++
			}
			if ran < least {
				t.Errorf("there were %d blocks only", ran)
			}
		})
	}
}

// block returns the next block of a page in a language, and what is behind it.
func block(page, language string) (text, rest string, ok bool) {
	_, behind, ok := strings.Cut(page, "```"+language+"\n")
	text, rest, _ = strings.Cut(behind, "```")
	return text, rest, ok
}

func TestThePageAboutImportsHasAllPrograms(t *testing.T) {
	page, err := os.ReadFile("../../docs/import.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range config.Hosts() {
		if !strings.Contains(string(page), "\n| `"+h.Name+"` |") {
			t.Errorf("%s is missing", h.Name)
		}
	}
}
