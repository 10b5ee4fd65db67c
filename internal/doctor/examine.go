package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"mcpwire"
	"mcpwire/auth"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/redact"
	"mcpwire/mcp"
	"mcpwire/trace"
	"mcpwire/transport"
)

// Options configure an examination.
type Options struct {
	// Connect is what the server is connected with. Its caches are left alone, so that everything is found out anew.
	Connect mcpwire.Options
	// Problems are those of the server's entry.
	Problems []*config.Problem
	// Login is the command that logs in to the server.
	Login string
	// Nearest returns which of the known names a name may have been meant for; nil: none.
	Nearest func(name string, known []string) []string
	// Closing returns the context of the shutdown (nil: one without an end).
	Closing func() context.Context
	// Say is told what is being done; may be nil.
	Say func(what string)
}

// facts are what an examination has gathered.
type facts struct {
	server   config.Server // as it stands in its file
	masked   config.Server
	kind     config.Kind
	options  *Options
	record   *record
	mask     func(string) string
	oddities oddities
	renewed  atomic.Int64 // how often the session was lost and opened anew

	err    error // of connecting
	took   time.Duration
	probes []exchange // of connecting: server/discover
	opens  []exchange // initialize
	about  client.Server

	lists []listing

	pingErr  error
	pingTook time.Duration

	closeErr  error
	closeTook time.Duration

	login    auth.Status
	loginErr error
	logins   bool // there can be logins
}

// A listing is the reading of one list.
type listing struct {
	method string
	count  int
	err    error
	took   time.Duration
	pages  []exchange
	tools  []mcp.Tool
}

// Examine connects to a server, has a look at all that it offers, and shuts it down in order. It takes as long as the
// server and the clocks of the options let it; a done ctx ends it early, and what it says is of no use then.
func Examine(ctx context.Context, s config.Server, o Options) *Report {
	began := time.Now()
	f := &facts{server: s, masked: s.Masked(), options: &o, record: &record{}, mask: masker(s)}
	r := newReport(s)
	if o.Say == nil {
		o.Say = func(string) {}
	}
	var err error
	f.kind, err = s.Kind()
	f.entry(r, err)
	if err != nil {
		return r.finish(began, f.mask)
	}
	f.gather(ctx)
	f.diagnose(r)
	return r.finish(began, f.mask)
}

func newReport(s config.Server) *Report {
	r := &Report{Name: s.Name, Lists: []List{}}
	if kind, err := s.Kind(); err == nil {
		r.Transport = string(kind)
	}
	return r
}

// masker returns what masks all that is known to be secret of an entry.
func masker(s config.Server) func(string) string {
	secrets := s.Secrets()
	if s.Origin != "" {
		if expanded, more, err := s.Expand(os.LookupEnv); err == nil {
			secrets = append(expanded.Secrets(), more...)
		}
	}
	return redact.NewSet(secrets...).Text
}

// gather does what a host does with a server, and notes what comes of it.
func (f *facts) gather(ctx context.Context) {
	o := f.options.Connect
	o.CacheDir = "none"
	o.Trace = both(f.record.sink, o.Trace)
	o.Logger = slog.New(&f.oddities)
	renewed := o.OnRenewed
	o.OnRenewed = func(ctx context.Context) {
		f.renewed.Add(1)
		if renewed != nil {
			renewed(ctx)
		}
	}
	f.options.Say("connecting to " + f.server.Name)
	start := time.Now()
	c, err := mcpwire.Connect(ctx, f.server, o)
	f.err, f.took = err, time.Since(start)
	f.probes, f.opens = f.record.of(mcp.MethodDiscover, 0), f.record.of(mcp.MethodInitialize, 0)
	if err == nil {
		f.about = c.Server()
		f.use(ctx, c)
		f.options.Say("shutting down " + f.server.Name)
		start = time.Now()
		closing := context.WithoutCancel(ctx)
		if f.options.Closing != nil {
			closing = f.options.Closing()
		}
		f.closeErr = c.Close(closing)
		f.closeTook = time.Since(start)
	}
	if f.kind != config.Stdio && !f.server.Auth.Off && !f.server.SendsAuthorization() {
		f.logins = true
		f.login, f.loginErr = mcpwire.LoginStatus(ctx, f.server, f.options.Connect)
	}
}

// use pings and lists. The ping comes first: a server that does not survive its handshake is told from one that does
// not survive being asked for a list.
func (f *facts) use(ctx context.Context, c *client.Client) {
	start := time.Now()
	f.pingErr = c.Ping(ctx)
	f.pingTook = time.Since(start)
	if errors.Is(f.pingErr, transport.ErrClosed) {
		return
	}
	f.options.Say("listing what " + f.server.Name + " offers")
	f.list(mcp.MethodListTools, func(l *listing) (err error) {
		l.tools, err = c.ListTools(ctx)
		l.count = len(l.tools)
		return err
	})
	has := f.about.Capabilities
	if has.Prompts != nil {
		f.list(mcp.MethodListPrompts, func(l *listing) error {
			all, err := c.ListPrompts(ctx)
			l.count = len(all)
			return err
		})
	}
	if has.Resources != nil {
		f.list(mcp.MethodListResources, func(l *listing) error {
			all, err := c.ListResources(ctx)
			l.count = len(all)
			return err
		})
		f.list(mcp.MethodListResourceTemplates, func(l *listing) error {
			all, err := c.ListResourceTemplates(ctx)
			l.count = len(all)
			return err
		})
	}
}

// list reads one list.
func (f *facts) list(method string, read func(l *listing) error) {
	l := listing{method: method}
	mark := f.record.mark()
	start := time.Now()
	l.err = read(&l)
	l.took = time.Since(start)
	l.pages = f.record.of(method, mark)
	f.lists = append(f.lists, l)
}

// diagnose makes steps of what was gathered.
func (f *facts) diagnose(r *Report) {
	f.variables(r)
	if expand, ok := errors.AsType[*config.ExpandError](f.err); ok && expand != nil {
		r.skip("the server was not reached", f.rest())
		return
	}
	reached := f.carrier(r)
	if f.logins || f.kind != config.Stdio {
		f.loginState(r)
	}
	if !reached {
		r.skip("the server was not reached", f.rest())
		return
	}
	f.version(r)
	f.handshake(r)
	if f.err != nil {
		r.skip("there is no connection", f.rest())
		return
	}
	f.capabilities(r)
	if f.pingErr != nil && f.lists == nil {
		r.skip("the connection had ended", []string{Tools, Prompts, Resources})
	} else {
		f.contents(r)
	}
	f.ping(r)
	f.shutdown(r)
}

// carrier looks at what carries the conversation, and reports whether it came to one.
func (f *facts) carrier(r *Report) (reached bool) {
	if f.kind == config.Stdio {
		return f.command(r) && f.firstBytes(r)
	}
	return f.network(r) && f.endpoint(r)
}

// rest returns the steps behind the variables.
func (f *facts) rest() []string {
	steps := []string{Command, Spawn, FirstBytes}
	if f.kind != config.Stdio {
		steps = []string{Network, Endpoint, LoginState}
	}
	steps = append(steps, Version, Handshake, Capabilities, Tools, Prompts, Resources, Ping, Shutdown)
	if f.kind == config.Stdio {
		steps = append(steps, Leftovers)
	}
	return steps
}

// both returns a sink for two; the second may be nil.
func both(first, second trace.Sink) trace.Sink {
	if second == nil {
		return first
	}
	return func(e *trace.Event) {
		first(e)
		second(e)
	}
}

// oddities are what the client logs: what is odd but harmless.
type oddities struct {
	mu  sync.Mutex
	all []string
}

// keptOddities bounds how many are kept.
const keptOddities = 20

// Enabled implements slog.Handler.
func (*oddities) Enabled(_ context.Context, level slog.Level) bool { return level >= slog.LevelWarn }

// Handle implements slog.Handler.
func (o *oddities) Handle(_ context.Context, r slog.Record) error {
	var b strings.Builder
	b.WriteString(r.Message)
	r.Attrs(func(a slog.Attr) bool {
		b.WriteString("; " + a.Key + ": " + a.Value.String())
		return true
	})
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.all) < keptOddities && !slices.Contains(o.all, b.String()) {
		o.all = append(o.all, b.String())
	}
	return nil
}

// WithAttrs implements slog.Handler. The only attribute that is added is the server's name.
func (o *oddities) WithAttrs([]slog.Attr) slog.Handler { return o }

// WithGroup implements slog.Handler.
func (o *oddities) WithGroup(string) slog.Handler { return o }

// versionOf returns the revision that the params of a handshake ask for; empty where there is none.
func versionOf(params json.RawMessage) string {
	var p struct {
		Version string `json:"protocolVersion"`
		Meta    struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	if mcp.Decode(params, &p) != nil {
		return ""
	}
	if p.Version == "" {
		return p.Meta.Version
	}
	return p.Version
}
