package cli_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestTheExamplesOfThePageAboutTracesWork(t *testing.T) { runExamples(t, "trace.md", 8) }

func TestTheExamplesOfThePageAboutInstallingWork(t *testing.T) { runExamples(t, "install.md", 4) }

// runExamples runs the commands of a page, which has at least so many, one after the other, in a folder of their own.
func runExamples(t *testing.T, name string, atLeast int) {
	t.Helper()
	page, err := os.ReadFile("../../docs/" + name)
	if err != nil {
		t.Fatal(err)
	}
	dir, ran := t.TempDir(), 0
	for rest := string(page); ; {
		_, behind, ok := strings.Cut(rest, "```sh\n")
		if !ok {
			break
		}
		var block string
		block, rest, _ = strings.Cut(behind, "```")
		for line := range strings.Lines(block) {
			words := strings.Fields(strings.ReplaceAll(line, "'", ""))
			cmd := exec.Command(os.Args[0], words[1:]...)
			cmd.Dir = dir
			cmd.Env = append(os.Environ(), runVariable+"=1", raceOptions,
				"XDG_CACHE_HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_STATE_HOME="+dir)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%s: %v\n%s", line, err, out)
			}
			ran++
		}
	}
	if ran < atLeast {
		t.Errorf("there were %d examples only", ran)
	}
}
