package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// opencodeFiles returns where OpenCode keeps the user's servers: ~/.config/opencode on every system, or below
// XDG_CONFIG_HOME. Of its files there opencode.jsonc is the strongest; the one that OPENCODE_CONFIG names is stronger.
func opencodeFiles(m machine) []string {
	var all []string
	if path := m.env("OPENCODE_CONFIG"); filepath.IsAbs(path) {
		all = append(all, path)
	}
	for _, name := range []string{"opencode.jsonc", "opencode.json", "config.json"} {
		all = append(all, m.xdg("opencode", name))
	}
	return all
}

// inOpenCode is a reference of OpenCode, or what would be one elsewhere.
var inOpenCode = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{(env|file):([^}]*)\}|\$\{([^}]*)\}`)
})

// readOpenCode reads the servers under "mcp", or under "servers" in it. A program ("local") has one list for the
// command and its arguments; timeout is in milliseconds. {env:NAME} and {file:PATH} are put in everywhere, a path being
// taken from the folder of the file or, with ~/, from the user's. OpenCode puts nothing in for a variable that is not
// set. An entry with nothing but "enabled" switches that of a weaker file of it.
func readOpenCode(r *reader, from where) error {
	top, err := r.object()
	if err != nil {
		return err
	}
	says := tongue(func(text string) (string, error) {
		return reworded(text, inOpenCode(), func(groups []string) (string, error) {
			switch groups[1] {
			case "env":
				return variable(groups[2])
			case "file":
				return from.file(groups[2])
			}
			return "", foreign(groups[3], "which OpenCode does not know; it writes {env:NAME}")
		})
	})
	entry := says.entry()
	delete(entry, "env")
	r.setForm(from, fieldsOf(entry, map[string]field{
		"type":        opencodeType(),
		"environment": says.env(),
		"cwd":         says.text(func(s *Server) *string { return &s.Cwd }),
		"enabled":     enabled(),
		"timeout":     wait(requestLimit, time.Millisecond, "timeout"),
		"oauth":       opencodeLogin(says),
	}))
	r.form.overrides = true
	r.form.prepare = cutCommand
	mcp := top["mcp"]
	servers := byName(mcp.members())["servers"]
	if isServer := byName(servers.members())["type"].value != nil; servers.value != nil && !isServer {
		mcp = servers
	}
	return r.serversOf(mcp, "mcp")
}

// cutCommand makes two members of a list that holds a command and its arguments.
func cutCommand(all []member) (cut []member) {
	for _, m := range all {
		words := m.elements()
		if m.name != "command" || len(words) == 0 {
			cut = append(cut, m)
			continue
		}
		command, args := m, m
		command.value, command.valueAt = words[0].value, words[0].valueAt
		cut = append(cut, command)
		if len(words) > 1 {
			// The bracket stands right before the first argument now, so that all else keeps its place.
			args.name, args.valueAt = "args", words[1].valueAt-1
			args.value = append(jsontext.Value("["), m.value[words[1].valueAt-m.valueAt:]...)
			cut = append(cut, args)
		}
	}
	return cut
}

func opencodeType() field {
	f := ignored
	f.set = func(_ *Server, v jsontext.Value) error {
		var kind string
		if err := setText(&kind, v); err != nil {
			return err
		}
		if kind != "local" && kind != "remote" {
			return fmt.Errorf("is %q; OpenCode knows local and remote", kind)
		}
		return nil
	}
	return f
}

// opencodeLogin takes false for a server to which nobody logs in.
func opencodeLogin(says tongue) field {
	f := says.login(map[string]string{"clientId": "clientId", "clientSecret": "clientSecret", "scope": "scopes"})
	object := f.set
	f.set = func(s *Server, v jsontext.Value) error {
		switch v.Kind() {
		case 'f':
			s.Auth = Auth{Off: true}
			return nil
		case 't':
			return errors.New("must be an object or false")
		}
		return object(s, v)
	}
	return f
}

// geminiFiles returns where Gemini CLI keeps the user's settings: ~/.gemini on every system, where GEMINI_CLI_HOME may
// name another folder than the user's.
func geminiFiles(m machine) []string {
	return []string{m.inHome("GEMINI_CLI_HOME", "", ".gemini", "settings.json")}
}

var (
	// inGemini are references of Gemini CLI, inGeminiOnWindows also those that it knows there.
	inGemini          = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(geminiReference) })
	inGeminiOnWindows = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(geminiReference + `|%(\w+)%`) })
)

const geminiReference = `\$(?:(\w+)|\{([^}]*)\})`

// geminiTongue puts in $NAME, ${NAME} and ${NAME:-default}, on Windows %NAME% too.
func geminiTongue(from where) tongue {
	refs := inGemini()
	if from.goos == "windows" {
		refs = inGeminiOnWindows()
	}
	braces := expandingDefaults(from.title)
	return func(text string) (string, error) {
		return reworded(text, refs, func(groups []string) (string, error) {
			bare := groups[1]
			if len(groups) > 3 && groups[3] != "" {
				bare = groups[3]
			}
			switch {
			case isVariable(bare):
				return "${" + bare + "}", nil
			case bare != "":
				return "", nil // such as $5: no variable has that name
			}
			return braces(groups[0])
		})
	}
}

// readGemini reads the servers in settings of the user, or of a project. "httpUrl" is an address for Streamable HTTP,
// and stronger than "url", whose transport "type" names. timeout is in milliseconds. Only servers in "mcp.allowed" are
// used, if there is one, and none in "mcp.excluded". Variables are put in everywhere; nothing for one that is not set.
func readGemini(r *reader, from where) error {
	top, err := r.object()
	if err != nil {
		return err
	}
	says := geminiTongue(from)
	noAccount := "is a way to log in that there is none of here; put a header with a token into headers"
	r.setForm(from, fieldsOf(says.entry(), ignoring("trust", "description", "extension"), map[string]field{
		"type":             plain(setType),
		"httpUrl":          says.address(),
		"cwd":              says.text(func(s *Server) *string { return &s.Cwd }),
		"timeout":          wait(requestLimit, time.Millisecond, "timeout"),
		"includeTools":     onlyTools(),
		"excludeTools":     notTools(),
		"tcp":              refused("is a socket, and servers are reached by http and https only"),
		"authProviderType": geminiLogin(noAccount),
		"targetAudience":   refused(noAccount), "targetServiceAccount": refused(noAccount),
		"oauth": says.login(map[string]string{
			"clientId": "clientId", "clientSecret": "clientSecret", "issuer": "issuer", "scopes": "scopes", "enabled": nowhere,
		}),
	}))
	r.form.prepare = preferHTTP
	if err := r.serversOf(top["mcpServers"], "mcpServers"); err != nil {
		return err
	}
	rules := byName(top["mcp"].members())
	r.disable(r.listed(rules["excluded"]))
	if allowed, ok := rules["allowed"]; ok && allowed.value.Kind() == '[' {
		names, others := r.listed(allowed), map[string]Place{}
		for _, s := range r.file.entries {
			if _, ok := names[s.Name]; !ok {
				others[s.Name] = r.where(allowed.valueAt)
			}
		}
		r.disable(others)
	}
	return nil
}

// preferHTTP leaves one address, and says which transport it is for.
func preferHTTP(all []member) (left []member) {
	named := byName(all)
	address, ok := named["httpUrl"]
	for _, m := range all {
		switch {
		case ok && (m.name == "url" || m.name == "type"):
		default:
			left = append(left, m)
		}
	}
	if ok {
		transport := member{name: "type", at: address.at, value: jsontext.Value(`"http"`), valueAt: address.at, moved: true}
		left = append(left, transport)
	}
	return left
}

func geminiLogin(why string) field {
	f := ignored
	f.set = func(_ *Server, v jsontext.Value) error {
		if string(v) == `"dynamic_discovery"` {
			return nil
		}
		return errors.New(why)
	}
	return f
}
