package release

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// Manual returns the pages of section 1 of the manual, in roff: one for cmd and for each command below it that is not
// hidden. The texts of the commands are taken as they are: cobra's own generator reads them as Markdown, which makes
// something else of [key=value], of * and of lines that are set in.
func Manual(cmd *cobra.Command, version string, date time.Time) []File {
	cmd.InitDefaultHelpFlag()
	p := &page{}
	name := dashed(cmd)
	p.linef(`.TH %s 1 %s "mcpwire %s" "mcpwire"`, strings.ToUpper(roff(name)), date.UTC().Format(time.DateOnly), version)
	p.linef(".SH NAME")
	p.linef(`%s \- %s`, roff(name), roff(cmd.Short))
	p.linef(".SH SYNOPSIS")
	p.synopsis(cmd)
	p.linef(".SH DESCRIPTION")
	p.description(cmd)
	p.flags("OPTIONS", cmd.LocalFlags())
	p.flags("OPTIONS OF EVERY COMMAND", cmd.InheritedFlags())
	if cmd.Example != "" {
		p.linef(".SH EXAMPLES")
		p.verbatim(cmd.Example)
	}
	p.seeAlso(cmd)
	pages := []File{{Name: name + ".1", Mode: 0o644, Data: []byte(p.b.String())}}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			pages = append(pages, Manual(below, version, date)...)
		}
	}
	return pages
}

func dashed(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// A page is one page of the manual.
type page struct{ b strings.Builder }

func (p *page) linef(format string, args ...any) { fmt.Fprintf(&p.b, format+"\n", args...) }

// synopsis shows the ways to write the command, of which all but the first begin with the program's name.
func (p *page) synopsis(cmd *cobra.Command) {
	p.linef(".nf")
	path := cmd.CommandPath()
	for i, way := range strings.Split(cmd.Use, "\n") {
		way = strings.TrimSpace(way)
		if _, operands, _ := strings.Cut(way, " "); i == 0 {
			way = strings.TrimSpace(path + " " + operands)
		}
		p.linef(`\fB%s\fR%s`, roff(path), roff(strings.TrimPrefix(way, path)))
	}
	if cmd.HasAvailableSubCommands() {
		p.linef(`\fB%s\fR COMMAND ...`, roff(path))
	}
	p.linef(".fi")
}

// description shows the long text: paragraphs, and lines that are set in as they are.
func (p *page) description(cmd *cobra.Command) {
	text := cmd.Long
	if text == "" {
		text = cmd.Short + "."
	}
	for i, paragraph := range strings.Split(text, "\n\n") {
		switch {
		case strings.HasPrefix(paragraph, "  "):
			p.linef(".PP")
			p.verbatim(paragraph)
			continue
		case i > 0:
			p.linef(".PP")
		}
		p.linef("%s", roff(paragraph))
	}
	if !cmd.HasAvailableSubCommands() {
		return
	}
	p.linef(".SH COMMANDS")
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			p.linef(".TP\n\\fB%s\\fR\n%s", roff(below.Name()), roff(below.Short))
		}
	}
}

// verbatim shows lines as they are, set in.
func (p *page) verbatim(text string) {
	p.linef(".RS 2\n.nf")
	for line := range strings.Lines(text) {
		p.linef("%s", roff(strings.TrimPrefix(strings.TrimRight(line, "\n"), "  ")))
	}
	p.linef(".fi\n.RE")
}

func (p *page) flags(title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	p.linef(".SH %s", title)
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := `\fB` + roff("--"+f.Name) + `\fR`
		if f.Shorthand != "" {
			name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
		}
		value, usage := pflag.UnquoteUsage(f)
		if value != "" {
			name += ` \fI` + roff(value) + `\fR`
		}
		p.linef(".TP\n%s\n%s", name, roff(usage))
	})
}

func (p *page) seeAlso(cmd *cobra.Command) {
	var others []string
	if cmd.HasParent() {
		others = append(others, dashed(cmd.Parent()))
	}
	for _, below := range cmd.Commands() {
		if below.IsAvailableCommand() {
			others = append(others, dashed(below))
		}
	}
	if others == nil {
		return
	}
	p.linef(".SH SEE ALSO")
	for i, other := range others {
		end := ","
		if i == len(others)-1 {
			end = ""
		}
		p.linef(`\fB%s\fR(1)%s`, roff(other), end)
	}
}

// roff returns text so that it is shown as it is, each line of it.
func roff(text string) string {
	var b strings.Builder
	begins := true // a line
	for _, r := range text {
		switch {
		case begins && r == '.':
			b.WriteString(`\&.`)
		case r == '\n':
			b.WriteByte('\n')
		case r == '\\':
			b.WriteString(`\e`)
		case r == '-':
			b.WriteString(`\-`)
		case r == '\'':
			b.WriteString(`\(aq`)
		case r == '`':
			b.WriteString(`\(ga`)
		case r == '^':
			b.WriteString(`\(ha`)
		case r == '~':
			b.WriteString(`\(ti`)
		case r > '~':
			fmt.Fprintf(&b, `\[u%04X]`, r)
		default:
			b.WriteRune(r)
		}
		begins = r == '\n'
	}
	return b.String()
}
