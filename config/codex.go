package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/BurntSushi/toml"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// codexFiles returns where Codex keeps the user's settings: ~/.codex on every system, or the folder that CODEX_HOME
// names.
func codexFiles(m machine) []string { return []string{m.inHome("CODEX_HOME", ".codex", "config.toml")} }

// readCodex reads the tables [mcp_servers.NAME] of the user's settings, or of a project's. Nothing is put in for
// variables in texts; instead env_vars, bearer_token_env_var and env_http_headers name variables. A program gets few
// variables of our environment beside those. Limits are in seconds.
func readCodex(r *reader, from where) error {
	tables, err := r.tables("mcp_servers")
	if err != nil || tables == nil {
		return err
	}
	says := literal(from.title)
	r.setForm(from, fieldsOf(says.entry(), codexVariables(says), map[string]field{
		"cwd":                 says.text(func(s *Server) *string { return &s.Cwd }),
		"enabled":             enabled(),
		"required":            fields["required"],
		"startup_timeout_sec": wait(connectLimit, time.Second, "connectTimeout"),
		"startup_timeout_ms":  wait(connectLimit, time.Millisecond, "connectTimeout"),
		"tool_timeout_sec":    wait(requestLimit, time.Second, "timeout"),
		"enabled_tools":       onlyTools(),
		"disabled_tools":      notTools(),
		"oauth":               says.login(map[string]string{"client_id": "clientId"}),
		"scopes": {place: "auth.scopes", hint: noHint, set: func(s *Server, v jsontext.Value) error {
			return setTexts(&s.Auth.Scopes, v)
		}},
		"bearer_token":             refused("is no key of Codex; name a variable as bearer_token_env_var"),
		"experimental_environment": codexEnvironment(),
	}, ignoring("name", "tools", "default_tools_approval_mode", "supports_parallel_tool_calls", "oauth_resource")))
	r.servers(member{moved: true, inner: tables})
	r.minimal()
	return nil
}

// codexVariables are the keys whose values are names of variables, and those that they are put together with.
func codexVariables(says tongue) map[string]field {
	named := tongue(variable)
	httpHeaders, envHeaders := says.headers(), named.headers()
	token := plain(func(s *Server, v jsontext.Value) error {
		var name string
		if err := setText(&name, v); err != nil {
			return err
		}
		said, err := variable(name)
		if err != nil {
			return err
		}
		said = quote("Bearer " + said)
		return tongue(asIs).add(&s.Headers, jsontext.Value(`{"Authorization":`+said+`}`), asWritten, asIs)
	})
	token.place = "headers.Authorization"
	passed := plain(func(s *Server, v jsontext.Value) error {
		names, err := codexNames(v)
		s.EnvInherit = EnvInherit{Minimal: true, Pass: names}
		return err
	})
	passed.place = "envInherit"
	return map[string]field{
		"http_headers": httpHeaders, "env_http_headers": envHeaders, "bearer_token_env_var": token, "env_vars": passed,
	}
}

func asIs(text string) (string, error) { return text, nil }

// codexNames reads a list of names of variables, or of tables with a name.
func codexNames(v jsontext.Value) (names []string, err error) {
	if v.Kind() != '[' {
		return nil, fmt.Errorf("must be an array, not %s", kindName(v.Kind()))
	}
	for i, e := range elements(v, 0) {
		entry := byName(members(e.value, 0))
		if entry["source"].value != nil && string(entry["source"].value) != `"local"` {
			return nil, &innerError{index: i, err: errors.New("is taken from another machine, which there is none of here")}
		}
		value := e.value
		if value.Kind() == '{' {
			value = entry["name"].value
		}
		var name string
		if err := setText(&name, value); err != nil || !isVariable(name) {
			return nil, &innerError{index: i, err: errors.New("is no name of a variable")}
		}
		names = append(names, name)
	}
	return names, nil
}

// codexEnvironment is the machine on which a server is started.
func codexEnvironment() field {
	f := ignored
	f.set = func(_ *Server, v jsontext.Value) error {
		if string(v) != `"local"` {
			return errors.New("is another machine, and programs are started on this one only")
		}
		return nil
	}
	return f
}

// tables returns the tables below one of the top of a text in TOML, in the text's order, as members whose values are
// JSON.
func (r *reader) tables(name string) ([]member, error) {
	if err := r.refuseDeep(); err != nil {
		return nil, err
	}
	var top map[string]toml.Primitive
	meta, err := toml.Decode(string(r.text), &top)
	if err != nil {
		if at, ok := errors.AsType[toml.ParseError](err); ok {
			reason := quoted().ReplaceAllString(at.Message, "…")
			return nil, r.problem(r.within(at.Position.Start), "", "not valid TOML: %s", reason)
		}
		return nil, r.problem(0, "", "not valid TOML")
	}
	all, ok := top[name]
	if !ok {
		return nil, nil
	}
	t := tomlTree{r: r, meta: &meta, keys: map[string]int{}}
	for i, key := range meta.Keys() {
		for n := range min(len(key), tomlDepth) { // a table may only be named in the names of others
			if part := strings.Join(key[:n+1], "\x00"); t.keys[part] == 0 {
				t.keys[part] = i + 1
			}
		}
	}
	var servers map[string]toml.Primitive
	if meta.PrimitiveDecode(all, &servers) != nil {
		return nil, r.problem(t.offset(all, 0), "", "%s must be a table of servers by name", name)
	}
	return t.members(all, []string{name}, t.offset(all, 0)), nil
}

// quoted is what the library quotes of a text, which may be a secret.
var quoted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`"([^"\\]|\\.)*"|'[^']*'|` + "`[^`]*`") })

// tomlDepth is how many names those have in which values of entries are looked for: mcp_servers.NAME.env.VARIABLE.
const tomlDepth = 4

// A tomlTree finds where values stand.
type tomlTree struct {
	r    *reader
	meta *toml.MetaData
	keys map[string]int // which key of the text is the first with these names
}

// members returns the members of a table, none of anything else. above is where the table stands.
func (t *tomlTree) members(table toml.Primitive, path []string, above int) (all []member) {
	var values map[string]toml.Primitive
	if len(path) == tomlDepth || t.meta.PrimitiveDecode(table, &values) != nil {
		return nil
	}
	place := map[string]int{}
	for name, value := range values {
		key := append(slices.Clone(path), name)
		place[name] = t.keys[strings.Join(key, "\x00")]
		at := t.offset(value, above)
		var v any
		err := t.meta.PrimitiveDecode(value, &v)
		text, jsonErr := json.Marshal(v, json.Deterministic(true))
		if err != nil || jsonErr != nil {
			text = []byte("null") // nothing that a server could have
		}
		all = append(all, member{
			name: name, at: at, value: text, valueAt: at, moved: true, inner: t.members(value, key, at),
		})
	}
	slices.SortFunc(all, func(a, b member) int { return place[a.name] - place[b.name] })
	return all
}

// offset returns where a value stands, or above where the library does not know.
func (t *tomlTree) offset(value toml.Primitive, above int) int {
	err := t.meta.PrimitiveDecode(value, &placeOnly{})
	if at, ok := errors.AsType[toml.ParseError](err); ok && at.Position.Line > 0 {
		return t.r.within(at.Position.Start)
	}
	return above
}

// within returns an offset that lies in the text: those of the library may not.
func (r *reader) within(offset int) int { return min(max(offset, 0), len(r.text)) }

// A placeOnly refuses whatever it is given: the error tells where that stands, which the library tells in no other way.
type placeOnly struct{}

var errPlaceOnly = errors.New("a place is wanted")

// UnmarshalTOML returns an error.
func (*placeOnly) UnmarshalTOML(any) error { return errPlaceOnly }
