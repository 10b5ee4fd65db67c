// Package mcpwire connects an agent to MCP servers. Connect takes one entry of a configuration file and returns a
// client that is ready for use; it is the only place that knows configuration, carriers and client together. The
// packages below it can be used alone: client over any transport.Transport, rpc for other protocols over JSON-RPC.
package mcpwire

import (
	"context"
	"os"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/eracache"
	"mcpwire/internal/redact"
	"mcpwire/trace"
	"mcpwire/transport/stdio"
)

// Options configure Connect. The zero value works. Of client.Options, Server is replaced by the entry's name, and
// Timeout and ConnectTimeout are used where the entry says nothing.
type Options struct {
	client.Options
	// OnStderr gets the lines that a server process writes on its standard error, without control sequences. It must be
	// quick.
	OnStderr func(line []byte)
	// OnNoise gets the lines that a server process writes on its standard output and that are no messages. It must be
	// quick.
	OnNoise func(line []byte)
	// CacheDir is where it is kept which revision a server speaks, by a hash of its entry (empty: mcpwire in the user's
	// folder for caches; "none": nowhere).
	CacheDir string
	// StateDir is where it is kept which server processes run, so that those that this program leaves behind when it is
	// killed are ended by its next run; see stdio.Options (empty: mcpwire in $XDG_STATE_HOME, which is ~/.local/state
	// unless set, on Windows in %LocalAppData%; "none": nowhere).
	StateDir string
	// OnHTTP is told of each HTTP exchange with the server when its headers have come, or it has failed. It must be quick.
	OnHTTP func(HTTPTrace)
	// Trace is told of everything that goes over the wire, without secrets. A trace.Writer has one that writes files. It
	// must be quick.
	Trace trace.Sink
	// TraceMax is up to which size a message is given to Trace, in bytes (0: 1 MiB; negative: no limit); of larger ones
	// their beginning is.
	TraceMax int
	// Auth says how logins to servers on the web are used.
	Auth Auth
	// Telemetry follows the connections to the server, unless Tracer does: what telemetry.New returns, which makes spans
	// and metrics (nil: nothing does).
	Telemetry Telemetry

	taps *taps // nil: each client has its own
}

// Telemetry follows the connections to servers. That of package telemetry is not named here, so that programs without
// it do without OpenTelemetry.
type Telemetry interface {
	// Server returns what follows the connections to one server. address is its URL, expanded, with what could be secret
	// masked; empty for one that is a program.
	Server(name, address string) client.Tracer
}

// Connect starts or reaches the server that s describes and shakes hands with it. In an entry that comes from a file
// (config.Server.Origin) variables of our environment are put in first; what could be secret of that is kept out of
// errors and logs. The errors are those of config.Server.Kind, config.Server.Expand and client.Connect. After an error
// nothing is left running.
func Connect(ctx context.Context, s config.Server, o Options) (*client.Client, error) {
	kind, err := s.Kind()
	if err != nil {
		return nil, err
	}
	o.Server = s.Name
	o.Timeout = choose(s.Timeout, o.Timeout)
	o.ConnectTimeout = choose(s.ConnectTimeout, o.ConnectTimeout)
	cache, key := eras(o.CacheDir), s.Fingerprint()
	if o.Known == "" {
		o.Known = cache.Revision(key)
	}
	var secrets []string
	if s.Origin != "" { // what a program or a command line says means itself
		if s, secrets, err = s.Expand(os.LookupEnv); err != nil {
			return nil, err
		}
	}
	if s.Protocol != "" {
		o.Protocol = s.Protocol
	}
	if o.Telemetry != nil && o.Tracer == nil {
		o.Tracer = o.Telemetry.Server(s.Name, redact.NewSet(secrets...).Text(s.URL))
	}
	c, err := connect(ctx, s, kind, secrets, o)
	if err == nil && o.Protocol == "" {
		_ = cache.Remember(key, c.Server().Revision) // without it the next start takes a little longer
	}
	return c, err
}

// connect connects to a server whose configuration is expanded.
func connect(
	ctx context.Context, s config.Server, kind config.Kind, secrets []string, o Options,
) (*client.Client, error) {
	if kind != config.Stdio {
		return connectHTTP(ctx, s, kind, secrets, o)
	}
	tap := o.tap(s.Name)
	p := process(s, secrets, o)
	tapProcess(tap, &p)
	return client.Connect(ctx, tapped(tap, stdio.New(p)), o.Options)
}

// eras returns the cache of what servers speak.
func eras(folder string) eracache.Cache {
	if folder = cacheDir(folder); folder == "" {
		return eracache.Cache{}
	}
	return eracache.In(folder)
}

// stateDir returns the folder that Options.StateDir stands for; empty where there is none.
func stateDir(folder string) string {
	switch folder {
	case "none":
		return ""
	case "":
		usual, err := config.StateDir()
		if err != nil {
			return ""
		}
		return usual
	}
	return folder
}

// choose returns the entry's duration, in which 0 means no limit, or else that of the options.
func choose(entry *time.Duration, option time.Duration) time.Duration {
	switch {
	case entry == nil:
		return option
	case *entry == 0:
		return -1
	}
	return *entry
}

func process(s config.Server, secrets []string, o Options) stdio.Options {
	inherit := stdio.InheritAll
	if s.EnvInherit.Minimal {
		inherit = stdio.InheritMinimal
	}
	return stdio.Options{
		Name:     s.Name,
		Command:  s.Command,
		Args:     s.Args,
		Env:      s.Env,
		Inherit:  inherit,
		Pass:     s.EnvInherit.Pass,
		Dir:      s.Cwd,
		Secrets:  append(redact.Secrets(s.Env), secrets...),
		StateDir: stateDir(o.StateDir),
		OnStderr: o.OnStderr,
		OnNoise:  o.OnNoise,
	}
}
