package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"mcpwire"
	"mcpwire/auth"
	"mcpwire/config"
	"mcpwire/internal/keyboard"
	"mcpwire/internal/redact"
)

func loginCommand(a *app) *cobra.Command {
	l := &login{app: a}
	cmd := &cobra.Command{
		Use:   "login [flags] SERVER",
		Short: "Log in to a server on the web, in a browser",
		Long: `Log in to a server on the web, in a browser. What is granted is kept, and refreshed as long as the server
likes, so that this is needed once for all programs that use mcpwire.

The address of the page is printed too. Where the browser that you open it with is on another machine, it ends at an
address that it can't reach: paste that address here. With --no-browser none is opened, and the pasted line is read from
standard input whether or not that is a terminal. Without a terminal --no-browser must be given.

Where the entry has a grant of machines under "auth", a token is got by that at once, and nobody is asked.`,
		Example: `  mcpwire login search
  mcpwire login search --scope files:read --scope files:write
  mcpwire login https://mcp.example.com/mcp --no-browser`,
		RunE: l.run,
	}
	flags := cmd.Flags()
	l.flags.addFiles(cmd)
	flags.StringArrayVar(&l.scopes, "scope", nil, "`SCOPE` to ask for besides what is asked for anyway, and what was "+
		"granted before; may be given several times")
	flags.BoolVar(&l.noBrowser, "no-browser", false, "open no browser")
	flags.Var(&l.limit, "timeout", "how long to wait for you, such as 10m; 0: no limit (default 5m)")
	return cmd
}

// A login is one run of the command login.
type login struct {
	*app
	flags     serverFlags
	scopes    []string
	noBrowser bool
	limit     timeoutFlag
}

func (l *login) run(cmd *cobra.Command, words []string) error {
	t, err := l.onlyRemote(cmd, words, &l.flags)
	if err != nil {
		return err
	}
	machine := t.Auth.IsMachine()
	if _, person := terminal(l.stdin); !person && !l.noBrowser && !machine {
		return usagef("a login needs somebody at a terminal, and standard input is none; run \"%[1]s %[2]s\" on a terminal, "+
			"or \"%[1]s --no-browser %[2]s\" and write the address at which the browser has ended to its standard input",
			cmd.CommandPath(), t.again)
	}
	ctx, stop := catchSignals(cmd.Context())
	defer stop.release()
	o := l.options(t, &l.flags)
	for _, scope := range l.scopes {
		o.Auth.Scopes = append(o.Auth.Scopes, strings.Fields(scope)...)
	}
	if !machine {
		o.Auth.Authorizer = l.window(ctx, t.Server)
	}
	status, err := mcpwire.Login(ctx, t.Server, o)
	if err != nil {
		if ctx.Err() != nil {
			return errInterrupted
		}
		return err
	}
	if machine {
		return l.out.show("got a token for " + t.Name + " by " + t.Auth.Grant + loginText(status, time.Now()) + "\n")
	}
	return l.out.show("logged in to " + t.Name + loginText(status, time.Now()) + "\n")
}

// window is how the person is asked.
func (l *login) window(ctx context.Context, s config.Server) *auth.Loopback {
	w := &auth.Loopback{
		Port: s.Auth.CallbackPort, Limit: -1, Pasted: pastedLines(ctx, l.stdin),
		Show: func(address string) { l.show(s, address) }, Refused: l.refused(),
	}
	switch limit := l.limit.value; {
	case limit == nil:
		w.Limit = 0
	case *limit > 0:
		w.Limit = *limit
	}
	if !l.noBrowser {
		w.Browser = func(ctx context.Context, address string) error {
			err := auth.OpenBrowser(ctx, address)
			if err != nil && ctx.Err() == nil {
				l.console.line("mcpwire: warning: " + indented(err.Error()) + "; open the address yourself")
			}
			return err
		}
	}
	return w
}

func (l *login) show(s config.Server, address string) {
	how := "a browser opens this address, to log in to " + s.Name + ":"
	if l.noBrowser {
		how = "open this address in a browser, to log in to " + s.Name + ":"
	}
	l.console.line(how + "\n\n  " + address + "\n\nif the browser can't come back to this machine in the end, paste the " +
		"address that it has then:")
}

// refusalsShown is how many redirects and pasted lines that were not taken are told: anybody on this machine can send
// such.
const refusalsShown = 20

func (l *login) refused() func(error) {
	told := 0
	return func(why error) {
		if told++; told <= refusalsShown {
			l.console.line("mcpwire: not taken: " + redact.Line(why.Error(), 1000))
		}
	}
}

// longestPasted is how long a line may be, in bytes.
const longestPasted = 64 << 10

// pastedLines reads lines until ctx ends. A read of a pipe that is silent can't be ended: it goes with the program.
func pastedLines(ctx context.Context, in io.Reader) <-chan string {
	lines := make(chan string)
	go func() {
		defer close(lines)
		next := nextLine(ctx, in)
		for line, ok := next(); ok; line, ok = next() {
			select {
			case lines <- line:
			case <-ctx.Done():
				return
			}
		}
	}()
	return lines
}

// nextLine returns what reads the lines of a terminal or of anything else; false at the end.
func nextLine(ctx context.Context, in io.Reader) func() (string, bool) {
	file, _ := in.(*os.File)
	if _, person := terminal(in); person {
		return func() (string, bool) {
			line, err := keyboard.Line(ctx, file)
			return line, err == nil
		}
	}
	scanner := bufio.NewScanner(in)
	scanner.Buffer(nil, longestPasted)
	return func() (string, bool) {
		more := scanner.Scan()
		return scanner.Text(), more
	}
}

// loginText says who has logged in, and for what: " as me at https://as.example.com; scopes: a b; …".
func loginText(s auth.Status, now time.Time) string {
	text := whoseLogin(s)
	if len(s.Scopes) > 0 {
		text += "; scopes: " + visible(strings.Join(s.Scopes, " "))
	}
	switch life := s.Expires.Sub(now).Round(time.Second); {
	case s.Expires.IsZero():
	case life <= 0:
		text += "; the token has expired"
	default:
		text += fmt.Sprintf("; the token expires in %v", life)
	}
	if s.Refreshable {
		text += "; it is renewed without a login"
	}
	return text
}

// whoseLogin says whose login it is, as far as that is known.
func whoseLogin(s auth.Status) (text string) {
	if s.Account != "" {
		text += " as " + visible(s.Account)
	}
	if s.Issuer != "" {
		text += " at " + visible(s.Issuer)
	}
	return text
}

func logoutCommand(a *app) *cobra.Command {
	f := &serverFlags{}
	cmd := &cobra.Command{
		Use:   "logout [flags] SERVER",
		Short: "Forget the login to a server",
		Long: `Forget the login to a server, for all programs that use mcpwire, and give its tokens back where the
authorization server takes them. Which logins there are "mcpwire auth status" tells.`,
		Example: `  mcpwire logout search`,
		RunE: func(cmd *cobra.Command, words []string) error {
			t, err := a.onlyRemote(cmd, words, f)
			if err != nil {
				return err
			}
			return a.logout(cmd.Context(), t, f)
		},
	}
	f.addFiles(cmd)
	return cmd
}

func (a *app) logout(ctx context.Context, t target, f *serverFlags) error {
	ctx, stop := catchSignals(ctx)
	defer stop.release()
	o := a.options(t, f)
	was, err := mcpwire.Logout(ctx, t.Server, o)
	if err != nil {
		if now, statusErr := mcpwire.LoginStatus(context.WithoutCancel(ctx), t.Server, o); statusErr != nil || now.LoggedIn {
			return explained(ctx, t.Name, err)
		}
		err = fmt.Errorf("the authorization server may not know that: %w", err)
	}
	text := "nobody was logged in to " + t.Name
	if was.LoggedIn {
		text = "logged out of " + t.Name + ": the login" + whoseLogin(was) + " is forgotten"
	}
	if shown := a.out.show(text + "\n"); shown != nil {
		return shown
	}
	return explained(ctx, t.Name, err)
}

// onlyRemote returns the target of a command about the login to a server. One that is disabled has a login too.
func (a *app) onlyRemote(cmd *cobra.Command, words []string, f *serverFlags) (target, error) {
	switch {
	case cmd.ArgsLenAtDash() >= 0:
		return target{}, usagef("there is nothing to log in to at a program; the name or the URL of a server is wanted")
	case len(words) != 1:
		return target{}, usagef("the name or the URL of one server is wanted, as in \"%s search\"", cmd.CommandPath())
	}
	t, c, err := a.lookUp(words[0], f)
	if err != nil {
		return target{}, err
	}
	kind, err := t.Kind()
	switch {
	case err != nil:
		return target{}, &usageError{err}
	case kind == config.Stdio:
		return target{}, usagef("%s is a program: there is nothing to log in to", t.Name)
	case t.Auth.Off:
		return target{}, usagef("%s: its entry says \"auth\": \"none\" at %v, so there are no logins to it",
			t.Name, t.Places["auth"])
	case c == nil:
		return t, nil
	}
	return t, a.permit(c, t.Server)
}
