// Package mcpwire connects an agent to MCP servers. Connect takes one entry of a configuration file and returns a
// client that is ready for use; it is the only place that knows configuration, carriers and client together. The
// packages below it can be used alone: client over any transport.Transport, rpc for other protocols over JSON-RPC.
package mcpwire

import (
	"context"
	"fmt"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/transport"
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
}

// Connect starts or reaches the server that s describes and shakes hands with it. The errors are those of
// config.Server.Kind and of client.Connect. After an error nothing is left running.
func Connect(ctx context.Context, s config.Server, o Options) (*client.Client, error) {
	kind, err := s.Kind()
	if err != nil {
		return nil, err
	}
	o.Server = s.Name
	o.Timeout = choose(s.Timeout, o.Timeout)
	o.ConnectTimeout = choose(s.ConnectTimeout, o.ConnectTimeout)
	var t transport.Transport
	switch kind {
	case config.Stdio:
		t = stdio.New(process(s, o))
	default:
		return nil, fmt.Errorf("server %q: the %s transport is not built yet; only programs (a command) can be reached",
			s.Name, kind)
	}
	return client.Connect(ctx, t, o.Options)
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

func process(s config.Server, o Options) stdio.Options {
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
		OnStderr: o.OnStderr,
		OnNoise:  o.OnNoise,
	}
}
