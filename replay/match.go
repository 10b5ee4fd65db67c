package replay

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"mcpwire/internal/redact"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// Options configure a Server. The zero value is lenient and quick.
type Options struct {
	File string // the recording's name, for error texts; empty: "the recording"
	// Strict refuses what was not recorded in this order: the same request more often than it was recorded, one before
	// those that were answered before it, one whose answer is missing. Err then tells of requests that never came.
	Strict bool
	Delays bool // answer as late as the recorded server did
	// OnMismatch is told of each request that has no recorded answer, as the error that it gets says it; may be nil. It
	// must be quick.
	OnMismatch func(text string)
}

// A Server answers from a recording. It goes through it once, whatever connections it is used over, except that a
// lenient one begins anew when a client initializes more often than was recorded. Its methods may be called from
// several goroutines.
type Server struct {
	recording *Recording
	options   Options
	ctx       context.Context //nolint:containedctx // of all that is played; Close ends it
	cancel    context.CancelFunc
	plays     sync.WaitGroup

	mu         sync.Mutex
	used       map[*request]bool
	cuesUsed   map[*cue]bool
	mismatches int
}

// NewServer returns a server at the beginning of a recording.
func NewServer(r *Recording, o Options) *Server {
	o.File = cmp.Or(o.File, "the recording")
	s := &Server{recording: r, options: o, used: map[*request]bool{}, cuesUsed: map[*cue]bool{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	return s
}

// Close ends what is being played, with the streams that HTTP clients hold, and waits for it. The Server can't be used
// afterwards.
func (s *Server) Close() {
	s.cancel()
	s.plays.Wait()
}

// Err returns, for a strict Server, an error that tells of requests that had no recorded answer and of recorded ones
// that never came; nil where all went as it was recorded. A lenient Server tells of the former alone.
func (s *Server) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	var said []string
	if s.mismatches > 0 {
		said = append(said, fmt.Sprintf("requests without a recorded answer: %d", s.mismatches))
	}
	if s.options.Strict {
		var left []string
		for _, r := range s.recording.requests {
			if !s.used[r] && !r.optional(s.recording) {
				left = append(left, fmt.Sprintf("%d (%s)", r.number, redact.Line(r.method, shownBytes)))
			}
		}
		if n := len(left) - shownLeft; n > 0 {
			left = append(left[:shownLeft], fmt.Sprintf("and %d more", n))
		}
		if len(left) > 0 {
			said = append(said, "recorded requests that never came: "+strings.Join(left, ", "))
		}
	}
	if said == nil {
		return nil
	}
	return fmt.Errorf("%s: %s", s.options.File, strings.Join(said, "; "))
}

const shownLeft = 10 // requests that never came

// optional reports whether a request says nothing of what a host does: pings come when they come, and whether a host
// asks an older server for server/discover first depends on what it remembers.
func (r *request) optional(of *Recording) bool {
	return r.method == mcp.MethodPing || r.method == mcp.MethodDiscover && (of.session || r.result == nil)
}

// find returns the recorded request that one is answered from, or an error for the host.
func (s *Server) find(m jsonrpc.Message) (*request, *jsonrpc.Error) {
	masked := redact.Message(m.Params, nil) // as recordings are
	params := paramsOf(m.Method, masked)
	s.mu.Lock()
	r, refusal := s.take(m.Method, params)
	mismatch := refusal != nil && !(m.Method == mcp.MethodDiscover && s.recording.session)
	if mismatch {
		s.mismatches++
	}
	s.mu.Unlock()
	if mismatch && s.options.OnMismatch != nil {
		s.options.OnMismatch(refusal.Message)
	}
	return r, refusal
}

// pong answers a ping that was not recorded: pings come when they come.
var pong = &request{method: mcp.MethodPing, result: []byte("{}")}

// take is find. The caller holds mu.
func (s *Server) take(method string, params value) (*request, *jsonrpc.Error) {
	groups := s.recording.methods[method]
	switch {
	case method == mcp.MethodPing:
		return s.ping(groups), nil
	case method == mcp.MethodDiscover && s.recording.session && !answeredOnce(groups):
		return nil, s.unknown(method)
	case groups == nil:
		return nil, s.unknown(method)
	case method == mcp.MethodInitialize && answeredOnce(groups):
		for _, r := range groups[0].requests { // a try that failed, as that of another carrier, is left out
			s.used[r] = s.used[r] || !r.hasAnswer()
		}
	}
	same := s.same(method, params)
	if r, refusal := s.next(same); r != nil || refusal != nil {
		return r, refusal
	}
	switch {
	case len(same) == 0:
		return nil, s.nearest(method, params)
	case s.options.Strict:
		return nil, s.refusal("%s has %s with these params only %d times", s.options.File, method, len(same[0].requests))
	case method == mcp.MethodInitialize && answeredOnce(groups):
		clear(s.used)
		clear(s.cuesUsed)
		return s.take(method, params)
	}
	return last(same[0]), nil
}

// next returns the first request that has not come yet; nothing where all have.
func (s *Server) next(same []*group) (*request, *jsonrpc.Error) {
	for _, g := range same {
		for _, r := range g.requests {
			if s.used[r] {
				continue
			}
			if s.options.Strict {
				if refusal := s.strictly(r); refusal != nil {
					return nil, refusal
				}
			}
			s.used[r] = true
			return r, nil
		}
	}
	return nil, nil
}

// strictly refuses what comes too early, or has no answer.
func (s *Server) strictly(r *request) *jsonrpc.Error {
	if before := s.tooEarly(r); before != nil {
		return s.refusal("request %d of %s, %s, comes before request %d, %s, which was answered before it",
			r.number, s.options.File, r.method, before.number, before.method)
	}
	if !r.hasAnswer() && !r.listens {
		s.used[r] = true
		return s.refusal("request %d of %s, %s, has no answer there: %s", r.number, s.options.File, r.method,
			cmp.Or(r.lost, "the recording ends before it"))
	}
	return nil
}

// ping returns the next recorded one, for what followed it, as long as there is one.
func (s *Server) ping(groups []*group) *request {
	for _, g := range groups {
		for _, r := range g.requests {
			if !s.used[r] && r.hasAnswer() {
				s.used[r] = true
				return r
			}
		}
	}
	return pong
}

func answeredOnce(groups []*group) bool {
	return slices.ContainsFunc(groups, func(g *group) bool {
		return slices.ContainsFunc(g.requests, (*request).hasAnswer)
	})
}

// last returns the last request of a group that has an answer, or the last of all.
func last(g *group) *request {
	for _, r := range slices.Backward(g.requests) {
		if r.hasAnswer() {
			return r
		}
	}
	return g.requests[len(g.requests)-1]
}

// same returns the groups of requests that are the same as one: the one that is exactly so first.
func (s *Server) same(method string, params value) (all []*group) {
	if g := s.recording.groups[groupKey(method, params)]; g != nil {
		all = append(all, g)
	}
	for _, g := range s.recording.methods[method] {
		if g.masked && !slices.Contains(all, g) && len(g.params.differences(params, "")) == 0 {
			all = append(all, g)
		}
	}
	return all
}

// tooEarly returns a request that was answered before r was asked and has not come yet.
func (s *Server) tooEarly(r *request) *request {
	for _, before := range s.recording.requests[:r.number-1] {
		if !s.used[before] && before.ended < r.began && !before.optional(s.recording) {
			return before
		}
	}
	return nil
}

func (s *Server) refusal(format string, args ...any) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf(format, args...)}
}

func (s *Server) unknown(method string) *jsonrpc.Error {
	known := make([]string, 0, len(s.recording.methods))
	for name := range s.recording.methods {
		known = append(known, redact.Line(name, shownBytes))
	}
	slices.Sort(known)
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: fmt.Sprintf("%s has no %s; it has %s",
		s.options.File, redact.Line(method, shownBytes), strings.Join(known, ", "))}
}

const (
	comparedMost    = 1000 // groups that are looked at for the nearest
	shownDifferents = 3
)

// nearest tells how the most similar request differs.
func (s *Server) nearest(method string, params value) *jsonrpc.Error {
	groups := s.recording.methods[method]
	var best []difference
	var at *group
	for _, g := range groups[:min(len(groups), comparedMost)] {
		d := g.params.differences(params, "")
		if at == nil || distance(d) < distance(best) {
			at, best = g, d
		}
	}
	var texts []string
	for _, d := range best[:min(len(best), shownDifferents)] {
		texts = append(texts, strings.TrimPrefix(d.path+": "+d.text, ": "))
	}
	if n := len(best) - shownDifferents; n > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", n))
	}
	return s.refusal("%s has no such %s; the nearest, request %d, differs in %s", s.options.File, method,
		at.requests[0].number, strings.Join(texts, "; "))
}

// distance weighs differences: another name, as of a tool, is farther than any argument.
func distance(all []difference) int {
	n := len(all)
	for _, d := range all {
		if d.path == "name" || d.path == "uri" {
			n += 1000
		}
	}
	return n
}

// cued returns what followed a notification of the host.
func (s *Server) cued(m jsonrpc.Message) *cue {
	m.Params = redact.Message(m.Params, nil)
	params := cueParams(m)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.recording.cues {
		if c.method == m.Method && !s.cuesUsed[c] && len(c.params.differences(params, "")) == 0 {
			s.cuesUsed[c] = true
			return c
		}
	}
	return nil
}
