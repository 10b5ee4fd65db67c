package survival

import (
	"fmt"
	"strings"
)

// Page is docs/survival.md.
func Page() string {
	rows := Rows()
	var b strings.Builder
	fmt.Fprintf(&b, `# What mcpwire survives

This page is written by a test from the catalogue in `+"`internal/survival`"+`, which holds %d hostile servers. `+
		"`mcpwire selftest`"+` meets
all of them on your machine. Whatever a server does, the client comes to an end within its deadline and a second more, does
not panic, keeps its memory bounded, and leaves no goroutine, process, socket or file behind.
`, len(rows))
	group := ""
	for _, r := range rows {
		if g, _ := cutLast(r.Name); g != group {
			group = g
			fmt.Fprintf(&b, "\n## %s\n\n| row | the server | the client |\n| --- | --- | --- |\n", group)
		}
		_, name := cutLast(r.Name)
		fmt.Fprintf(&b, "| %s | %s | must %s |\n", cell(name), cell(r.Does), cell(r.Must))
	}
	return b.String()
}

// cutLast cuts a name at its last slash.
func cutLast(name string) (before, after string) {
	i := strings.LastIndexByte(name, '/')
	if i < 0 {
		return "", name
	}
	return name[:i], name[i+1:]
}

// cell is text as it may stand in a table.
func cell(text string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "<", "&lt;").Replace(text)
}
