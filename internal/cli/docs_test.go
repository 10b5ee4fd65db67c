package cli_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"mcpwire/config"
)

// The commands of the pages are run, one after the other, in a folder for each page. Where a page begins with a
// configuration, that is the user's.
func TestTheExamplesOfThePagesWork(t *testing.T) {
	for name, least := range map[string]int{"trace": 8, "machine-logins": 3, "install": 4, "skills": 4, "import": 4} {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile("../../docs/" + name + ".md")
			if err != nil {
				t.Fatal(err)
			}
			page, dir, ran := string(text), t.TempDir(), 0
			if entries, _, ok := block(page, "json"); ok && strings.Contains(entries, "mcpServers") {
				path := filepath.Join(dir, "mcpwire", "mcp.json")
				if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, []byte(entries), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			for commands, rest, ok := block(page, "sh"); ok; commands, rest, ok = block(rest, "sh") {
				for line := range strings.Lines(commands) {
					command, _, _ := strings.Cut(line, " # ")
					words := strings.Fields(strings.ReplaceAll(command, "'", ""))
					cmd := exec.Command(os.Args[0], words[1:]...)
					cmd.Dir = dir
					cmd.Env = append(os.Environ(), runVariable+"=1", raceOptions,
						"HOME="+dir, "USERPROFILE="+dir, "APPDATA="+dir,
						"XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Errorf("%s: %v\n%s", line, err, out)
					}
					ran++
				}
			}
			if ran < least {
				t.Errorf("there were %d examples only", ran)
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
