package cli

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"mcpwire"
	"mcpwire/auth"
	"mcpwire/config"
)

func authCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	status := &cobra.Command{
		Use:   "status [flags] [SERVER ...]",
		Short: "Show who is logged in to which servers, how, and for what",
		Long: `Show who is logged in to the servers on the web that are configured, or to the named ones, at which
authorization server, for which scopes, and when the token expires. How is "browser" where a person logs in, else the
grant by which a machine gets its tokens; "dpop" tells that they are bound to a key. Nobody is asked, no secret is read,
and no token is shown.

With --output json the result is {"logins":[...]}.`,
		Example: `  mcpwire auth status
  mcpwire auth status search --output json`,
		RunE: func(cmd *cobra.Command, names []string) error { return a.authStatus(cmd.Context(), names, f) },
	}
	f.addFiles(status)
	status.Flags().VarP(&f.output, "output", "o", "`FORM` of the result: text or json (default text)")
	cmd := &cobra.Command{
		Use:   "auth",
		Short: "Look at the logins to servers on the web",
		RunE: func(cmd *cobra.Command, words []string) error {
			if len(words) == 0 {
				return cmd.Help()
			}
			return unknownCommand(cmd, words[0])
		},
	}
	cmd.AddCommand(status)
	return cmd
}

// A loginRow is what the command auth status tells of one server. Its members in JSON stay as they are from version to
// version.
type loginRow struct {
	Name        string     `json:"name"`
	URL         string     `json:"url"`
	Grant       string     `json:"grant"` // as in the entry's "auth"
	LoggedIn    bool       `json:"loggedIn"`
	Account     string     `json:"account"` // empty where it is not known, like the rest
	Issuer      string     `json:"issuer"`
	Scopes      []string   `json:"scopes"`
	Obtained    *time.Time `json:"obtained"`    // when the present token came
	Expires     *time.Time `json:"expires"`     // when it will expire
	Refreshable bool       `json:"refreshable"` // a new one can be had without a login
	DPoP        bool       `json:"dpop"`        // the token is bound to a key
	Error       *string    `json:"error"`       // why nothing can be told, or what is wrong; nil if nothing is
}

func (a *app) authStatus(ctx context.Context, names []string, f *serverFlags) error {
	targets, err := a.loginTargets(names, f)
	if err != nil {
		return err
	}
	rows, failed := []loginRow{}, 0
	for _, t := range targets {
		status, err := mcpwire.LoginStatus(ctx, t.Server, a.options(t, f))
		if err != nil {
			failed++
		}
		rows = append(rows, loginRowOf(t, status, err))
	}
	switch {
	case f.output.json:
		err = a.printLoginsJSON(rows)
	case len(rows) == 0:
		a.console.line("no servers on the web are configured (\"mcpwire add --help\" tells how to add one)")
	default:
		err = a.out.write(strings.Join(loginTable(rows, time.Now()), "\n") + "\n")
	}
	if err != nil || failed == 0 {
		return err
	}
	return &someError{failed: failed, all: len(targets)}
}

// loginTargets returns the named servers or, without names, all to which there can be a login. None is started, nor
// asked, so that nobody needs to approve them.
func (a *app) loginTargets(names []string, f *serverFlags) (targets []target, err error) {
	for _, name := range names {
		t, _, err := a.lookUp(name, f)
		if err != nil {
			return nil, err
		}
		targets = append(targets, t)
	}
	if len(names) > 0 {
		return targets, nil
	}
	c, err := a.load(f.config, f.imports...)
	if err != nil {
		return nil, err
	}
	a.showProblems(c.Set, nil, nil, f.verbose)
	a.showWaiting(c)
	for _, s := range c.Servers {
		if kind, err := s.Kind(); err == nil && kind != config.Stdio && !s.Auth.Off && !s.SendsAuthorization() {
			targets = append(targets, newTarget(s, inFile(f.config, f.imports...)+shellWords([]string{s.Name}), f))
		}
	}
	return targets, nil
}

func loginRowOf(t target, s auth.Status, err error) loginRow {
	r := loginRow{
		Name: t.Name, URL: t.Masked().URL, Grant: string(s.Grant), LoggedIn: s.LoggedIn, Account: s.Account,
		Issuer: s.Issuer, Scopes: s.Scopes, Refreshable: s.Refreshable, DPoP: s.Bound,
	}
	if r.Scopes == nil {
		r.Scopes = []string{}
	}
	if !s.Obtained.IsZero() {
		r.Obtained = &s.Obtained
	}
	if !s.Expires.IsZero() {
		r.Expires = &s.Expires
	}
	if err != nil {
		text := err.Error()
		r.Error = &text
	}
	return r
}

// cells are the row's columns. Each is one line without control characters.
func (r loginRow) cells(now time.Time) []string {
	cells := []string{r.Name, r.how(), "no", r.Account, r.Issuer, strings.Join(r.Scopes, " "), ""}
	machine := r.Grant != string(auth.AuthorizationCode)
	switch {
	case r.Error != nil:
		cells[2] = "unknown: " + strings.TrimPrefix(*r.Error, r.Name+": ")
	case r.LoggedIn:
		cells[2] = "yes"
	case machine:
		cells[2] = "when needed"
	}
	if r.Expires != nil {
		cells[6] = "in " + r.Expires.Sub(now).Round(time.Second).String()
		if !r.Expires.After(now) {
			cells[6] = "expired"
		}
	}
	if r.Refreshable && (r.LoggedIn || !machine) {
		cells[6] = strings.TrimSpace(cells[6] + " (renewed)")
	}
	for i, cell := range cells {
		cells[i] = strings.Join(strings.Fields(plain(cell)), " ")
	}
	return cells
}

// how tells how tokens are come by; empty where that is not known.
func (r loginRow) how() string {
	how := r.Grant
	if how == string(auth.AuthorizationCode) {
		how = "browser"
	}
	if r.DPoP {
		how += ", dpop"
	}
	return how
}

func loginTable(rows []loginRow, now time.Time) []string {
	all := [][]string{{"NAME", "HOW", "LOGGED IN", "ACCOUNT", "AUTHORIZATION SERVER", "SCOPES", "TOKEN EXPIRES"}}
	for _, r := range rows {
		all = append(all, r.cells(now))
	}
	return aligned(all)
}

func (a *app) printLoginsJSON(rows []loginRow) error {
	text, err := jsonv2.Marshal(struct {
		Logins []loginRow `json:"logins"`
	}{rows}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		return err
	}
	return a.printJSON(json.RawMessage(text))
}
