package cli_test

import (
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// In each shell that is installed, the Tab key completes a call, which then works.
func TestShellsCompleteACall(t *testing.T) {
	library := ". /usr/share/bash-completion/bash_completion; "
	for _, row := range []struct {
		name, needs string
		shell       []string
		setUp       string
	}{
		{"bash", "", []string{"bash", "--norc", "--noprofile", "-i"}, `eval "$(mcpwire completion bash)"`},
		{
			"bash with bash-completion", "/usr/share/bash-completion/bash_completion",
			[]string{"bash", "--norc", "--noprofile", "-i"},
			library + `eval "$(mcpwire completion bash)"`,
		},
		{"zsh", "", []string{"zsh", "-f", "-i"}, `autoload -U compinit; compinit -D -u; eval "$(mcpwire completion zsh)"`},
		{"fish", "", []string{"fish", "-i"}, `mcpwire completion fish | source`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			path, err := exec.LookPath(row.shell[0])
			if err != nil {
				t.Skip(err)
			}
			if _, err := os.Stat(row.needs); row.needs != "" && err != nil {
				t.Skip(err)
			}
			cmd, _ := command(t)
			cmd.Path, cmd.Args = path, row.shell
			cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true} // as fish wants it
			s := onScreen(t, cmd)
			enter := func(text string) {
				t.Helper()
				if _, err := io.WriteString(s.master, text); err != nil {
					t.Fatal(err)
				}
			}
			enter(row.setUp + "; mcpwire post\r")
			s.await("a URL, a method and")
			enter("mcpwire call demo ad\ta\t40 b\t2\r")
			s.await(`{"sum":42}`)
			enter("exit\r")
			s.ends()
		})
	}
}
