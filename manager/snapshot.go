package manager

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/mcp"
)

// A Snapshot is what a Manager knew at one moment. It never changes, and may be read from several goroutines.
type Snapshot struct {
	// Servers are in the order in which they are configured.
	Servers []Status
	// Tools are those of all servers that are not disabled, by the names of server and tool: the same tools always come
	// in the same order, byte for byte.
	Tools []Tool

	changed <-chan struct{}
	find    func() map[string]int
}

// Changed is closed when there is a newer snapshot.
func (s *Snapshot) Changed() <-chan struct{} { return s.changed }

// Tool finds a tool by its safe name.
func (s *Snapshot) Tool(safeName string) (Tool, bool) {
	i, ok := s.find()[safeName]
	if !ok {
		return Tool{}, false
	}
	return s.Tools[i], true
}

// Server finds a server by its name.
func (s *Snapshot) Server(name string) (Status, bool) {
	i := slices.IndexFunc(s.Servers, func(st Status) bool { return st.Config.Name == name })
	if i < 0 {
		return Status{}, false
	}
	return s.Servers[i], true
}

// A Status is how one server stands.
type Status struct {
	Config config.Server // as configured, unexpanded
	State  State
	Since  time.Time // when it came into State
	// Err is why it is not ready, or how its last connection or attempt ended; nil if nothing went wrong since it became
	// ready.
	Err error
	// ListErr is why its tools could not be read the last time; those that were known before stay.
	ListErr error
	// Next is when it is tried again; zero unless it is Waiting.
	Next time.Time
	// Starts counts the attempts to connect, since the manager was made.
	Starts int
	// Failures counts the attempts that have failed and the connections that were lost, since the last connection that
	// lasted a minute.
	Failures int
	// Server is what it said of itself the last time, or, while Cached, in an earlier run.
	Server client.Server
	// Tools counts its tools, without those that its configuration keeps out.
	Tools int
	// Cached says that its tools are those of an earlier run.
	Cached bool
	// TimeToReady is how long the last successful attempt took, until its tools were read.
	TimeToReady time.Duration
}

// An Availability tells what a call of a tool would meet.
type Availability uint8

// The availabilities.
const (
	Live        Availability = iota // the server is ready
	Deferred                        // the server is being connected; a call waits for it
	Unavailable                     // the server is down; a call fails unless it comes back
)

// String returns "live", "deferred" or "unavailable".
func (a Availability) String() string {
	return [...]string{"live", "deferred", "unavailable"}[a]
}

// A Tool is a tool of one of the servers.
type Tool struct {
	mcp.Tool              // with its exact name, as the server gave it
	Server   string       // the server's name
	SafeName string       // a name that model APIs accept, unique over all servers; see SafeName
	Now      Availability // what a call would meet
}

// A view is what a supervisor has published of its server. It is never changed.
type view struct {
	status Status
	quiet  bool           // Waiting with long waits
	tools  []Tool         // by name, filtered; Now is not set
	client *client.Client // the connection, from the handshake on; nil if there is none
	next   chan struct{}  // closed when there is a newer view
}

func (v *view) availability() Availability {
	switch s := v.status.State; {
	case s == Ready && v.client != nil: // it is nil once the manager is closed
		return Live
	case s == Connecting, s == Waiting && !v.quiet:
		return Deferred
	}
	return Unavailable
}

// failure is the error for whoever needs the server and can't have it.
func (v *view) failure() *ServerError {
	e := &ServerError{Server: v.status.Config.Name, State: v.status.State, Err: v.status.Err}
	if e.State == Failed {
		e.Starts = v.status.Failures
	}
	return e
}

// build puts a snapshot together.
func build(views []*view, changed <-chan struct{}) *Snapshot {
	s := &Snapshot{changed: changed}
	n := 0
	for _, v := range views {
		s.Servers = append(s.Servers, v.status)
		n += len(v.tools)
	}
	byName := slices.SortedFunc(slices.Values(views), func(a, b *view) int {
		return cmp.Compare(a.status.Config.Name, b.status.Config.Name)
	})
	s.Tools = make([]Tool, 0, n)
	for _, v := range byName {
		if v.status.State == Disabled {
			continue
		}
		now := v.availability()
		for _, t := range v.tools {
			t.Now = now
			s.Tools = append(s.Tools, t)
		}
	}
	s.find = sync.OnceValue(func() map[string]int {
		all := make(map[string]int, len(s.Tools))
		for i := range s.Tools {
			if _, taken := all[s.Tools[i].SafeName]; !taken {
				all[s.Tools[i].SafeName] = i
			}
		}
		return all
	})
	return s
}
