package release_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"mcpwire/internal/cli"
	"mcpwire/internal/release"
)

// manual writes the program's pages and returns their paths.
func manual(t *testing.T) (paths []string) {
	t.Helper()
	folder := t.TempDir()
	for _, page := range release.Manual(cli.Commands(), "1.2.3", made) {
		path := filepath.Join(folder, page.Name)
		if err := os.WriteFile(path, page.Data, 0o600); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return paths
}

func TestEachCommandHasAPage(t *testing.T) {
	pages := map[string]bool{}
	for _, path := range manual(t) {
		pages[filepath.Base(path)] = true
	}
	var check func(cmd *cobra.Command, name string)
	check = func(cmd *cobra.Command, name string) {
		if pages[name+".1"] == cmd.Hidden {
			t.Errorf("page of %s: %t", name, pages[name+".1"])
		}
		for _, below := range cmd.Commands() {
			check(below, name+"-"+below.Name())
		}
	}
	check(cli.Commands(), "mcpwire")
	if !pages["mcpwire-auth-status.1"] || pages["mcpwire-demo-server.1"] {
		t.Errorf("the pages are %v", pages)
	}
}

func TestFormattersFindNoFaultWithThePages(t *testing.T) {
	for _, formatter := range [][]string{
		{"mandoc", "-T", "lint", "-W", "warning"}, {"groff", "-man", "-Tutf8", "-ww", "-z"},
	} {
		t.Run(formatter[0], func(t *testing.T) {
			if _, err := exec.LookPath(formatter[0]); err != nil {
				t.Skip(err)
			}
			out, err := exec.Command(formatter[0], append(formatter[1:], manual(t)...)...).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%v: %s", err, out)
			}
		})
	}
}

func TestAPageShowsTextsAsTheyAre(t *testing.T) {
	cmd := &cobra.Command{
		Use: "mcpwire FILE\n  mcpwire -- COMMAND", Short: "Do it", Run: func(*cobra.Command, []string) {},
		Long:    "Do it.\n\n.dot and 'quote' and \\n and *stars* and ~ → there\n\n  as it is\n  'too'\n\nThe end.",
		Example: "  mcpwire x --fast",
	}
	cmd.Flags().StringP("to", "t", "", "where: to a `PLACE`")
	pages := release.Manual(cmd, "1.2.3", made)
	want := strings.Join([]string{
		`.TH MCPWIRE 1 2026-07-28 "mcpwire 1.2.3" "mcpwire"`,
		`.SH NAME`, `mcpwire \- Do it`,
		`.SH SYNOPSIS`, `.nf`, `\fBmcpwire\fR FILE`, `\fBmcpwire\fR \-\- COMMAND`, `.fi`,
		`.SH DESCRIPTION`, `Do it.`, `.PP`,
		`\&.dot and \(aqquote\(aq and \en and *stars* and \(ti \[u2192] there`,
		`.PP`, `.RS 2`, `.nf`, `as it is`, `\(aqtoo\(aq`, `.fi`, `.RE`, `.PP`, `The end.`,
		`.SH OPTIONS`, `.TP`, `\fB\-h\fR, \fB\-\-help\fR`, `help for mcpwire`,
		`.TP`, `\fB\-t\fR, \fB\-\-to\fR \fIPLACE\fR`, `where: to a PLACE`,
		`.SH EXAMPLES`, `.RS 2`, `.nf`, `mcpwire x \-\-fast`, `.fi`, `.RE`, ``,
	}, "\n")
	if len(pages) != 1 || string(pages[0].Data) != want {
		t.Errorf("got\n%s\nwant\n%s", pages[0].Data, want)
	}
}
