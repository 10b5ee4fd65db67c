package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"mcpwire/config"
	"mcpwire/internal/keyboard"
)

// permit reports whether the servers may be started: those of a project's file only after its content was approved. On
// a terminal it is asked for; the answer counts for the whole file. Disabled servers are not started anyway.
func (a *app) permit(c *catalogue, servers ...config.Server) error {
	for i := range c.unapproved {
		source := &c.unapproved[i]
		var wanted []config.Server
		for _, s := range servers {
			if !s.Disabled && c.waits(s) == source {
				wanted = append(wanted, s)
			}
		}
		if wanted == nil {
			continue
		}
		if !a.asks() {
			return notApproved(source.Path, wanted)
		}
		if err := a.ask(source, wanted); err != nil {
			return err
		}
	}
	return nil
}

// waits returns the project's file that must be approved before a server is started; nil if there is none.
func (c *catalogue) waits(s config.Server) *config.Source {
	for i, source := range c.unapproved {
		if !c.without && (s.Origin == source.Path || s.Places["disabled"].Path == source.Path) {
			return &c.unapproved[i]
		}
	}
	return nil
}

// notApproved tells somebody who can't be asked what to do.
func notApproved(path string, servers []config.Server) error {
	var names []string
	for _, s := range servers {
		names = append(names, visible(s.Name))
	}
	return fmt.Errorf("%s comes with the project and nobody has approved it, so its servers are not started: %s; "+
		"look at it, then run \"mcpwire trust %s\"", visible(path), strings.Join(names, ", "), shellWords([]string{path}))
}

// asks reports whether there is somebody at a terminal who can be asked.
func (a *app) asks() bool {
	_, in := terminal(a.stdin)
	_, errs := terminal(a.console.w)
	return in && errs
}

// ask shows what a project's file would start, and approves the file if the answer is yes.
func (a *app) ask(source *config.Source, wanted []config.Server) error {
	var b strings.Builder
	fmt.Fprintf(&b, "mcpwire: %s comes with the project and nobody has approved it. It starts:\n", visible(source.Path))
	b.WriteString(descriptions(source.File))
	for _, s := range wanted {
		if s.Origin != source.Path {
			fmt.Fprintf(&b, "  %s, which %s has and this file switches on\n", visible(s.Name), visible(s.Origin))
		}
	}
	b.WriteString("Approve this content, and start its servers from now on? [y/N] ")
	if err := a.console.aside(func() error { return writeAll(a.console.w, b.String()) }); err != nil {
		return err
	}
	answer := ""
	if in, ok := a.stdin.(*os.File); ok {
		answer, _ = keyboard.Line(context.Background(), in) // what can't be read is no yes
	}
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
	default:
		return fmt.Errorf("%s is not approved; nothing was started", visible(source.Path))
	}
	if err := config.OpenTrust("").Approve(source.File); err != nil {
		a.console.linef("mcpwire: warning: it will be asked again, for the approval can't be kept: %v", err)
	}
	return nil
}

// descriptions shows what a file starts: the very commands with all that decides what they do, and addresses, before
// variables are put in. Control characters are made visible. Masked are the values of headers, the secret of a client,
// and secrets in addresses, which decide nothing; the environment is not: it can hold code whatever its names are.
func descriptions(file *config.File) string {
	var b strings.Builder
	for _, s := range file.Servers {
		b.WriteString("  " + visible(s.Name))
		if s.Disabled {
			b.WriteString(" (disabled)")
		}
		b.WriteString("\n")
		for _, line := range description(s) {
			b.WriteString("    " + line + "\n")
		}
	}
	return b.String()
}

func description(s config.Server) (lines []string) {
	masked := s.Masked()
	if s.Command != "" {
		folder := s.Cwd
		if folder == "" {
			folder = filepath.Dir(s.Origin)
		}
		lines = append(lines, shellWords(append([]string{s.Command}, s.Args...)), "in the folder "+visible(folder))
	} else {
		lines = append(lines, visible(masked.URL))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Env)) {
		lines = append(lines, "with the variable "+shellWords([]string{name + "=" + s.Env[name]}))
	}
	if s.EnvInherit.Minimal {
		lines = append(lines, "with our environment: "+visible(s.EnvInherit.String()))
	}
	for _, name := range slices.Sorted(maps.Keys(masked.Headers)) {
		lines = append(lines, "with the header "+visible(name+": "+masked.Headers[name]))
	}
	for _, file := range [][2]string{
		{"certificates that are trusted", s.TLS.CA}, {"certificate that is shown", s.TLS.Cert}, {"private key", s.TLS.Key},
	} {
		if file[1] != "" {
			lines = append(lines, "with the "+file[0]+" in "+visible(file[1]))
		}
	}
	if s.Proxy != "" {
		lines = append(lines, "through the proxy "+visible(masked.Proxy))
	}
	shown, said := masked.Auth, s.Auth // what reads secrets is shown as it is: it can be a program
	shown.Assertion, shown.ClientSecretFrom = said.Assertion, said.ClientSecretFrom
	shown.IDP.ClientSecretFrom = said.IDP.ClientSecretFrom
	for _, v := range authValues(shown) {
		lines = append(lines, "with "+v.name+" "+visible(v.text))
	}
	return lines
}
