package cli

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"mcpwire/config"
)

func configCommand(a *app) *cobra.Command {
	f := &configFlags{}
	cmd := &cobra.Command{
		Use:   "config [flags]",
		Short: "Show the servers of all files together, and where each comes from",
		Long: `Show the servers of all files together, as they count, and where each comes from. With --verbose each
value has its place. Values that look like secrets are shown as ***; variables are not put in. Nothing is started.
A project's file that nobody has approved does not count: it is told, and left out. A server of another program's file
has the scope "import" and that program's name.

What is wrong is told on standard error: the exit code is 1 if a file can't be used, 5 if an entry can't.`,
		Example: `  mcpwire config -v
  mcpwire config --output json`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.showConfig(f) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.config, "config", "", "`FILE` that names servers, stronger than the project's and the user's")
	f.imports.add(cmd)
	flags.VarP(&f.output, "output", "o", "`FORM` of the result: text or json (default text)")
	flags.BoolVarP(&f.verbose, "verbose", "v", false, "show where each value comes from")
	return cmd
}

type configFlags struct {
	config  string
	imports importFlag
	output  outputFlag
	verbose bool
}

func (a *app) showConfig(f *configFlags) error {
	c, err := a.read(f.config, true, f.imports...)
	if err != nil {
		return err
	}
	a.showProblems(c.Set, nil, nil, true)
	a.showWaiting(c)
	if f.output.json {
		err = a.printConfigJSON(c)
	} else {
		err = a.printConfig(c.Set, f.verbose)
	}
	if err != nil {
		return err
	}
	return unusableEntries(c.Set)
}

// unusableEntries is the error of a command that shows a set in which files or entries can't be used; nil otherwise.
func unusableEntries(set *config.Set) error {
	for _, source := range set.Sources {
		if source.Err != nil {
			return fmt.Errorf("%s can't be used", source.Path)
		}
	}
	if n := len(broken(set)); n > 0 {
		return &brokenError{n}
	}
	return nil
}

// A brokenError tells that entries can't be used. What is wrong with each has been told.
type brokenError struct{ entries int }

func (e *brokenError) Error() string {
	if e.entries == 1 {
		return "an entry can't be used"
	}
	return fmt.Sprintf("%d entries can't be used", e.entries)
}

// A value is one value of an entry, under the name that its place has.
type value struct {
	name, text string
	list       []string // what text is made of, where it is a list
}

func (v value) content() any {
	if v.list != nil {
		return v.list
	}
	return v.text
}

// values lists what an entry says, in the order of the documentation.
func values(s config.Server) (all []value) {
	add := func(name, text string) {
		if text != "" {
			all = append(all, value{name: name, text: text})
		}
	}
	named := func(name string, of map[string]string) {
		for _, key := range slices.Sorted(maps.Keys(of)) {
			all = append(all, value{name: name + "." + key, text: of[key]})
		}
	}
	list := func(name string, words []string) {
		if len(words) > 0 {
			all = append(all, value{name, shellWords(words), words})
		}
	}
	wait := func(name string, d *time.Duration) {
		if d != nil {
			add(name, d.String())
		}
	}
	add("type", s.Type)
	add("command", s.Command)
	list("args", s.Args)
	named("env", s.Env)
	if s.EnvInherit.Minimal {
		add("envInherit", s.EnvInherit.String())
	}
	add("cwd", s.Cwd)
	add("url", s.URL)
	named("headers", s.Headers)
	add("tls.ca", s.TLS.CA)
	add("tls.cert", s.TLS.Cert)
	add("tls.key", s.TLS.Key)
	add("proxy", s.Proxy)
	all = append(all, authValues(s.Auth)...)
	add("protocol", s.Protocol)
	wait("timeout", s.Timeout)
	wait("connectTimeout", s.ConnectTimeout)
	wait("startupWait", s.StartupWait)
	if s.Required {
		add("required", "true")
	}
	list("tools.allow", s.Tools.Allow)
	list("tools.deny", s.Tools.Deny)
	if s.Disabled {
		add("disabled", "true")
	}
	return all
}

// authValues lists what a block for logging in says.
func authValues(a config.Auth) (all []value) {
	add := func(name, text string) {
		if text != "" {
			all = append(all, value{name: "auth." + name, text: text})
		}
	}
	if a.Off {
		return []value{{name: "auth", text: "none"}}
	}
	list := func(name string, words []string) {
		if len(words) > 0 {
			all = append(all, value{"auth." + name, shellWords(words), words})
		}
	}
	add("grant", a.Grant)
	add("clientId", a.ClientID)
	add("clientSecret", a.ClientSecret)
	list("clientSecret", a.ClientSecretFrom.Words())
	add("issuer", a.Issuer)
	list("assertion", a.Assertion.Words())
	add("idp.issuer", a.IDP.Issuer)
	add("idp.clientId", a.IDP.ClientID)
	add("idp.clientSecret", a.IDP.ClientSecret)
	list("idp.clientSecret", a.IDP.ClientSecretFrom.Words())
	if a.DPoP != nil {
		add("dpop", strconv.FormatBool(*a.DPoP))
	}
	list("scopes", a.Scopes)
	if a.CallbackPort != 0 {
		add("callbackPort", strconv.Itoa(a.CallbackPort))
	}
	add("clientMetadataUrl", a.ClientMetadataURL)
	add("tokenAuthMethod", a.TokenAuthMethod)
	add("privateKey", a.PrivateKey)
	add("signingAlgorithm", a.SigningAlgorithm)
	if a.AllowPrivateNetworks {
		add("allowPrivateNetworks", "true")
	}
	return all
}

func (a *app) printConfig(set *config.Set, verbose bool) error {
	var b strings.Builder
	for i, s := range set.Servers {
		if i > 0 {
			b.WriteString("\n")
		}
		b.WriteString(a.out.heading(visible(s.Name)) + "  " + visible(origin(s)) + "\n")
		all := values(s.Masked())
		width := 0
		for _, v := range all {
			width = max(width, len(v.name))
		}
		for _, v := range all {
			text := "  " + padded(visible(v.name), width) + "  " + visible(v.text)
			if where := s.Places[v.name]; verbose && where.Path != "" {
				text += "  (" + visible(where.String()) + ")"
			}
			b.WriteString(text + "\n")
		}
	}
	if len(set.Servers) == 0 {
		a.console.line("no servers are configured (\"mcpwire add --help\" tells how to add one)")
	}
	return a.out.write(b.String())
}

// origin tells where an entry stands: of which sources the file is, and the place.
func origin(s config.Server) string {
	return strings.Join(strings.Fields(string(s.Scope)+" "+s.Host), " ") + " " + s.Places[""].String()
}

// What the command config prints as JSON. Members stay as they are from version to version.
type (
	shownConfig struct {
		Servers []shownServer `json:"servers"`
		Files   []shownFile   `json:"files"`
	}
	shownServer struct {
		Name     string                `json:"name"`
		Scope    string                `json:"scope"`
		Host     string                `json:"host,omitzero"`
		Path     string                `json:"path"`
		Line     int                   `json:"line"`
		Column   int                   `json:"column"`
		Disabled bool                  `json:"disabled"`
		Values   map[string]shownValue `json:"values"`
	}
	shownValue struct {
		Value  any    `json:"value"` // a string, or an array of them
		Path   string `json:"path,omitzero"`
		Line   int    `json:"line,omitzero"`
		Column int    `json:"column,omitzero"`
	}
	shownFile struct {
		Scope    string `json:"scope"`
		Host     string `json:"host,omitzero"`
		Path     string `json:"path"`
		Approved bool   `json:"approved"`
		Error    string `json:"error,omitzero"`
	}
)

func (a *app) printConfigJSON(c *catalogue) error {
	all := shownConfig{shownServers(c.Servers), []shownFile{}}
	for _, source := range c.files {
		waits := slices.ContainsFunc(c.unapproved, func(s config.Source) bool { return s.Path == source.Path })
		file := shownFile{Scope: string(source.Scope), Host: source.Host, Path: source.Path, Approved: !waits}
		if source.Err != nil {
			file.Error = source.Err.Error()
		}
		all.Files = append(all.Files, file)
	}
	text, err := jsonv2.Marshal(all, jsonv2.Deterministic(true), jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	return a.printJSON(json.RawMessage(text))
}

func shownServers(servers []config.Server) []shownServer {
	all := []shownServer{}
	for _, s := range servers {
		where := s.Places[""]
		shown := shownServer{
			s.Name, string(s.Scope), s.Host, s.Origin, where.Line, where.Column, s.Disabled, map[string]shownValue{},
		}
		for _, v := range values(s.Masked()) {
			at := s.Places[v.name]
			shown.Values[v.name] = shownValue{v.content(), at.Path, at.Line, at.Column}
		}
		all = append(all, shown)
	}
	return all
}
