package config

import (
	"fmt"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

const noEnvFile = "is not read here; put what it says into env, with ${env:NAME} for secrets"

// cursorFiles returns where Cursor keeps the user's servers, on every system.
func cursorFiles(m machine) []string { return []string{m.inHome("", ".cursor", "mcp.json")} }

// readCursor reads them, and those of a project. In command, args, env, url and headers ${env:NAME}, ${userHome},
// ${workspaceFolder} (of the project whose file it is), ${workspaceFolderBasename}, ${pathSeparator} and ${/} are put
// in.
func readCursor(r *reader, from where) error {
	top, err := r.object()
	if err != nil {
		return err
	}
	says := editors(from)
	r.setForm(from, fieldsOf(says.entry(), ignoring("description"), map[string]field{
		"type":     plain(setType),
		"cwd":      says.text(func(s *Server) *string { return &s.Cwd }),
		"disabled": fields["disabled"],
		"envFile":  refused(noEnvFile),
		"auth": says.login(map[string]string{
			"CLIENT_ID": "clientId", "CLIENT_SECRET": "clientSecret", "scopes": "scopes",
		}),
	}))
	return r.serversOf(top["mcpServers"], "mcpServers")
}

// vscodeFiles returns where VS Code keeps the servers of the user's default profile.
func vscodeFiles(m machine) []string { return []string{m.appData("Code", "User", "mcp.json")} }

// readVSCode reads them, and those of a workspace, from "servers". The predefined variables are those of Cursor, with
// ${workspaceFolder} for the folder that is open; ${input:ID} is asked for, and ${config:ID} and ${command:ID} only the
// editor knows. A server for which no transport is named is tried with Streamable HTTP first, as ours are.
func readVSCode(r *reader, from where) error {
	top, err := r.object()
	if err != nil {
		return err
	}
	says := editors(from)
	r.setForm(from, fieldsOf(says.entry(), ignoring("gallery", "version", "dev", "sandbox"), map[string]field{
		"type":           plain(setType),
		"cwd":            says.text(func(s *Server) *string { return &s.Cwd }),
		"envFile":        refused(noEnvFile),
		"oauth":          says.login(map[string]string{"clientId": "clientId"}),
		"sandboxEnabled": refused("asks for a sandbox, which there is none of here; copy the entry by hand to do without"),
	}))
	if err := r.serversOf(top["servers"], "servers"); err != nil {
		return err
	}
	if m, ok := top["mcpServers"]; ok && top["servers"].value == nil {
		r.warn(m.at, "", `VS Code reads servers from "servers", not from "mcpServers"`)
	}
	return nil
}

// windsurfFiles returns where Windsurf keeps its servers, on every system.
func windsurfFiles(m machine) []string {
	return []string{m.inHome("", ".codeium", "windsurf", "mcp_config.json")}
}

// readWindsurf reads them. A server on the web has "serverUrl" or "url". In command, args, env, serverUrl, url and
// headers ${env:NAME} and ${file:PATH} are put in, with ~ for the user's folder.
func readWindsurf(r *reader, from where) error {
	top, err := r.object()
	if err != nil {
		return err
	}
	says := envAndFile(from)
	r.setForm(from, fieldsOf(says.entry(), ignoring("alwaysAllow", "registry"), map[string]field{
		"serverUrl":     says.address(),
		"type":          plain(setType),
		"transport":     fields["transport"],
		"disabled":      fields["disabled"],
		"disabledTools": notTools(),
	}))
	return r.serversOf(top["mcpServers"], "mcpServers")
}

// zedFiles returns where Zed keeps the user's settings: %APPDATA%\Zed on Windows, else ~/.config/zed, where only Linux
// goes by XDG_CONFIG_HOME (in Flatpak by FLATPAK_XDG_CONFIG_HOME).
func zedFiles(m machine) []string {
	switch m.goos {
	case "windows":
		return []string{m.appData("Zed", "settings.json")}
	case "darwin":
		return []string{m.inHome("", ".config", "zed", "settings.json")}
	}
	if m.env("FLATPAK_XDG_CONFIG_HOME") != "" {
		return []string{m.inHome("FLATPAK_XDG_CONFIG_HOME", ".config", "zed", "settings.json")}
	}
	return []string{m.xdg("zed", "settings.json")}
}

// readZed reads the servers in settings of the user, or of a project, from "context_servers". A program is written as
// "command", "args" and "env" or, as in older settings, as an object with "path" under "command". timeout is in
// seconds. What an extension provides only Zed can start. Nothing is known to be put in for variables.
func readZed(r *reader, from where) error {
	top, err := r.object()
	if err != nil {
		return err
	}
	says := literal(from.title)
	r.setForm(from, fieldsOf(says.entry(), ignoring("settings", "remote"), map[string]field{
		"enabled": enabled(),
		"timeout": wait(requestLimit, time.Second, "timeout"),
		"source":  zedSource(),
		"oauth":   says.login(map[string]string{"client_id": "clientId", "client_secret": "clientSecret"}),
	}))
	r.form.prepare = func(all []member) (flat []member) {
		for _, m := range all {
			if m.name != "command" || m.value.Kind() != '{' {
				flat = append(flat, m)
				continue
			}
			for _, inner := range m.members() {
				if inner.name == "path" {
					inner.name = "command"
				}
				flat = append(flat, inner)
			}
		}
		return flat
	}
	return r.serversOf(top["context_servers"], "context_servers")
}

// zedSource is the key that tells who provides a server.
func zedSource() field {
	f := ignored
	f.set = func(_ *Server, v jsontext.Value) error {
		var source string
		if err := setText(&source, v); err != nil {
			return err
		}
		if source != "custom" {
			return fmt.Errorf("is %q: the server is provided by Zed itself, which alone can start it", source)
		}
		return nil
	}
	return f
}
