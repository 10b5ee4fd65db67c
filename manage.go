package mcpwire

import (
	"context"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/internal/filecache"
	"mcpwire/manager"
	"mcpwire/trace"
)

// ManageOptions configure Manage. The zero value works. Of manager.Options, Connect is replaced, and CacheDir is used
// as Options.CacheDir says. The callbacks are those of Options, with the server's name.
type ManageOptions struct {
	manager.Options
	StateDir string // see Options.StateDir
	OnStderr func(server string, line []byte)
	OnNoise  func(server string, line []byte)
	OnHTTP   func(server string, x HTTPTrace)
	Trace    trace.Sink // see Options.Trace; its events name the server
	TraceMax int        // see Options.TraceMax
	Auth     Auth       // see Options.Auth; its Authorizer is asked for calls only, and never for a connection
	// Telemetry follows the connections to all servers; see Options.Telemetry.
	Telemetry Telemetry
	// Prepare may change the options of a connection to a server before it is made, such as who answers what the server
	// asks; what it finds in them must stay in use (nil: nobody does). It may be called from several goroutines at once.
	Prepare func(server string, o *client.Options)
}

// Manage starts all servers, as Connect does, and keeps them. It returns at once; see manager.New. What nobody has
// approved must not be among them: see config.Sources.Approved.
func Manage(servers []config.Server, o ManageOptions) *manager.Manager {
	o.CacheDir = cacheDir(o.CacheDir)
	cache := o.CacheDir
	if cache == "" {
		cache = "none"
	}
	all := &taps{all: map[string]*trace.Tap{}}
	o.Connect = func(ctx context.Context, s config.Server, c client.Options) (*client.Client, error) {
		if o.Prepare != nil {
			o.Prepare(s.Name, &c)
		}
		one := Options{
			Options: c, CacheDir: cache, StateDir: o.StateDir, Auth: o.Auth,
			Trace: o.Trace, TraceMax: o.TraceMax, Telemetry: o.Telemetry, taps: all,
		}
		if f := o.OnStderr; f != nil {
			one.OnStderr = func(line []byte) { f(s.Name, line) }
		}
		if f := o.OnNoise; f != nil {
			one.OnNoise = func(line []byte) { f(s.Name, line) }
		}
		if f := o.OnHTTP; f != nil {
			one.OnHTTP = func(x HTTPTrace) { f(s.Name, x) }
		}
		return Connect(ctx, s, one)
	}
	return manager.New(servers, o.Options)
}

// cacheDir returns the folder that Options.CacheDir stands for; empty where there is none.
func cacheDir(folder string) string {
	switch folder {
	case "none":
		return ""
	case "":
		return filecache.UserFolder()
	}
	return folder
}
