// Package config reads the files that name MCP servers, in the form that most clients share:
//
//	{"mcpServers": {"name": {"command": "npx", "args": ["-y", "some-server"], "env": {"KEY": "value"}}}}
//
// The files are JSON in which comments and commas at the end of a list are allowed. One bad entry costs that entry,
// and one bad file that file. Sources.Load finds and merges them, AddServer and its kin change them and keep their
// comments, a TrustStore remembers which files of projects were approved. Nothing is started here, and nothing is
// expanded before Server.Expand is called.
package config

import (
	"fmt"
	"strings"
	"time"
)

// A Server is one entry: how to reach one MCP server. Its fields stand as they were written, but for relative paths;
// Kind checks that they fit together, and Expand puts in the values of variables.
//
// A relative Cwd, and relative files of TLS and Auth, are taken from the folder of the file that the entry stands in;
// one that has a variable in it, when it is expanded. A program of a project's file that says no cwd runs in that
// file's folder, so that it is found from every folder of the project; any other runs where we do. A relative Command
// with a slash is taken from the folder that the program runs in.
type Server struct {
	Name   string // the entry's name
	Origin string // the path of the file it comes from; empty if it comes from none
	Scope  Scope  `json:"-"` // which of the sources that file is; empty unless Sources.Load read it
	Host   string `json:"-"` // the program whose file it is, by its name in Hosts; empty: ours

	Type       string            // as written, under "type" or "transport"; may be empty
	Command    string            // the program to start: a name that is looked up in PATH, or a path
	Args       []string          // its arguments
	Env        map[string]string // added to what EnvInherit lets through, and stronger; an empty value is passed as empty
	EnvInherit EnvInherit        // what a started program gets of our own environment
	Cwd        string            // where it runs; empty: where we run

	URL     string            // the endpoint of an HTTP server
	Headers map[string]string // sent with each request to it; an empty one is left out
	TLS     TLS               // how to trust it and be trusted
	Proxy   string            // the URL of a proxy to it, or "none"; empty: as the environment says
	Auth    Auth              // how to log in to it

	Protocol string // what is spoken: a revision, "session" or "stateless"; empty: found out

	Timeout        *time.Duration // of one request; nil: the default (30 s); 0: no limit
	ConnectTimeout *time.Duration // of the whole start, handshake included; nil: the default; 0: no limit
	// StartupWait is how long the start of a host waits for this server before it goes on without its tools; nil: as long
	// as for any; 0: no limit.
	StartupWait *time.Duration

	Required bool       // a start without this server has failed
	Disabled bool       // the server is shown, but not started
	Tools    ToolFilter // which of its tools are offered

	// Places tells where each value stands, by its field: "command", "args[1]", "env.TOKEN", "headers.Authorization",
	// "tls.ca", "auth.clientId"; "type" also for what is written as "transport", and "auth.scopes" for "scope". "" is the
	// entry's own name. It is nil if the entry comes from no file, and not to be changed: copies of a Server share it.
	Places map[string]Place `json:"-"`

	override bool // the entry has nothing but "disabled", which it sets for the entry of a weaker file
}

// EnvInherit says which variables of our own environment a started program gets. The zero value means all.
type EnvInherit struct {
	Minimal bool     // only the few that programs need to run at all, such as HOME and PATH, and those of Pass
	Pass    []string // names that get through besides; only with Minimal
}

// String returns "all", "minimal", or "minimal and " with the names.
func (e EnvInherit) String() string {
	switch {
	case !e.Minimal:
		return "all"
	case len(e.Pass) == 0:
		return "minimal"
	}
	return "minimal and " + strings.Join(e.Pass, ", ")
}

// TLS names files for connections to an HTTPS server. The zero value uses the system's roots and no certificate.
type TLS struct {
	CA   string // a file of PEM certificates that are trusted besides the system's
	Cert string // a file with a PEM certificate that the client shows; needs Key
	Key  string // the file with its private key
}

// A Kind is a way to reach a server.
type Kind string

// The kinds.
const (
	Stdio Kind = "stdio" // a program that we start, over its standard input and output
	HTTP  Kind = "http"  // streamable HTTP
	SSE   Kind = "sse"   // HTTP with server-sent events, of revision 2024-11-05
)

// kinds are the spellings of a type that are in use.
var kinds = map[string]Kind{
	"stdio": Stdio, "sse": SSE,
	"http": HTTP, "streamable-http": HTTP, "streamableHttp": HTTP, "streamable_http": HTTP,
}

// Kind tells how the server is reached: by its type or, where it has none, by whether it has a command or a url. The
// error names the entry, its file, and what is accepted.
func (s Server) Kind() (Kind, error) {
	kind, misfit := s.kind()
	if misfit == "" {
		return kind, nil
	}
	if s.Origin == "" {
		return "", fmt.Errorf("server %q: %s", s.Name, misfit)
	}
	return "", fmt.Errorf("%s: server %q: %s", s.Origin, s.Name, misfit)
}

// kind returns the kind or, if the fields don't fit together, why.
func (s Server) kind() (kind Kind, misfit string) {
	const give = "; give a command for a program, or a url for an HTTP server"
	kind, known := kinds[s.Type]
	switch {
	case s.Type != "" && !known:
		return "", fmt.Sprintf("unknown type %q; accepted are stdio, http (or streamable-http) and sse", s.Type)
	case s.Command != "" && s.URL != "":
		return "", "it has both a command and a url" + give
	case s.Command == "" && s.URL == "":
		return "", "it has neither a command nor a url" + give
	case kind == Stdio && s.Command == "":
		return "", "type stdio takes a command, not a url; for a url the type is http or sse"
	case known && kind != Stdio && s.URL == "":
		return "", fmt.Sprintf("type %s takes a url, not a command; for a command the type is stdio", s.Type)
	case known:
		return kind, ""
	case s.Command != "":
		return Stdio, ""
	}
	return HTTP, ""
}
