package config

import (
	"maps"
	"path/filepath"
	"strings"
	"time"
)

// claudeCodeFiles returns where Claude Code keeps the user's servers: in .claude.json in the user's folder on every
// system, or in the folder that CLAUDE_CONFIG_DIR names.
func claudeCodeFiles(m machine) []string {
	return []string{m.inHome("CLAUDE_CONFIG_DIR", "", ".claude.json")}
}

// readClaudeCode reads them. Servers that the user added for one project ("local" ones, under "projects" and the
// project's path) hide those for all projects; "disabledMcpServers" beside them switches servers off. In command, args,
// env, url and headers ${NAME} and ${NAME:-default} are put in. What a project shares is in its .mcp.json, which is
// ours too.
func readClaudeCode(r *reader, from where) error {
	top, err := r.object()
	if err != nil {
		return err
	}
	says := expandingDefaults(from.title)
	r.setForm(from, fieldsOf(says.entry(), ignoring("alwaysLoad", "scope", "description"), map[string]field{
		"type":    plain(setType),
		"timeout": wait(requestLimit, time.Millisecond, "timeout"),
		"oauth": says.login(map[string]string{
			"clientId": "clientId", "callbackPort": "callbackPort", "scopes": "scopes",
		}),
		"headersHelper": refused("is a command that makes headers, which is not run here; put a variable into headers"),
	}))
	disabled := map[string]Place{}
	projects := top["projects"].members()
	for _, dir := range from.dirs {
		for _, m := range projects {
			if !from.isFolder(m.name, dir) {
				continue
			}
			project := byName(m.members())
			if err := r.serversOf(project["mcpServers"], "mcpServers"); err != nil {
				return err
			}
			maps.Copy(disabled, r.listed(project["disabledMcpServers"]))
		}
	}
	if err := r.serversOf(top["mcpServers"], "mcpServers"); err != nil {
		return err
	}
	r.disable(disabled)
	return nil
}

// isFolder reports whether a path that a program has written is that of a folder, which is clean.
func (f where) isFolder(written, folder string) bool {
	written = filepath.Clean(filepath.FromSlash(written))
	if f.goos == "windows" {
		return strings.EqualFold(written, folder)
	}
	if written == folder {
		return true
	}
	resolved, err := filepath.EvalSymlinks(written)
	return err == nil && resolved == folder
}

// claudeDesktopFiles returns where Claude Desktop keeps its servers.
func claudeDesktopFiles(m machine) []string {
	return []string{m.appData("Claude", "claude_desktop_config.json")}
}

// readClaudeDesktop reads them: programs only, which get few variables of our environment beside those in "env".
// Nothing is known to be put in for variables.
func readClaudeDesktop(r *reader, from where) error {
	top, err := r.object()
	if err != nil {
		return err
	}
	r.setForm(from, fieldsOf(literal(from.title).entry(), map[string]field{"type": plain(setType)}))
	if err := r.serversOf(top["mcpServers"], "mcpServers"); err != nil {
		return err
	}
	r.minimal()
	return nil
}

// minimal has the programs of a file get few variables of our environment.
func (r *reader) minimal() {
	for _, list := range [][]Server{r.file.Servers, r.file.entries} {
		for i := range list {
			if list[i].Command != "" {
				list[i].EnvInherit.Minimal = true
			}
		}
	}
}
