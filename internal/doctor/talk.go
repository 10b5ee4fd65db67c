package doctor

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/transport"
)

// version tells which revisions were asked for, what was answered, and how long it took to find out.
func (f *facts) version(r *Report) {
	s := r.step(Version)
	var told []string
	for _, x := range firstOf(f.probes, f.opens) {
		told = append(told, x.method+" "+x.version+": "+f.outcome(x))
		s.MS += ms(x.took())
	}
	s.Text = strings.Join(told, "; ")
	f.probe(s)
	if wrong, ok := errors.AsType[*client.VersionError](f.err); ok {
		s.find(Broken, "version-unsupported", fmt.Sprintf("the server speaks %s, and this client %s",
			f.quote(strings.Join(wrong.Theirs, ", ")), strings.Join(wrong.Ours, ", ")),
			`update the server; if it does speak one of these, name it under "protocol" in the entry`)
		return
	}
	if f.err != nil {
		return
	}
	revision := f.about.Revision
	for _, x := range f.opens {
		if x.result != nil && x.version != "" && x.version != revision && revision != "" {
			s.find(Note, "version-other", fmt.Sprintf("it was asked for %s and answered %s", x.version, revision),
				"nothing: both sides speak what it answered")
			break
		}
	}
	if newest := mcp.Revisions()[0]; revision != newest {
		s.find(Note, "version-old", fmt.Sprintf("it speaks %s; the newest revision is %s", revision, newest),
			"update the server's SDK when that can be done; nothing is wrong")
	}
}

// firstOf returns the first exchanges of each kind.
func firstOf(kinds ...[]exchange) (all []exchange) {
	const shown = 2
	for _, exchanges := range kinds {
		all = append(all, exchanges[:min(shown, len(exchanges))]...)
	}
	return all
}

// outcome tells what came of an exchange.
func (f *facts) outcome(x exchange) string {
	switch {
	case x.refusal != nil:
		return fmt.Sprintf("refused with %d after %s", x.refusal.Code, duration(x.took()))
	case x.answered:
		return "answered after " + duration(x.took())
	case x.failure != "" && f.kind != "stdio":
		return "refused after " + duration(x.took())
	}
	return "not answered"
}

// probe tells of a server that takes the question amiss whether it speaks a newer revision. Hosts that ask it lose
// time.
func (f *facts) probe(s *Step) {
	if f.err != nil || f.kind != "stdio" || len(f.probes) == 0 || !mcp.IsSession(f.about.Revision) {
		return
	}
	const fix = "answer requests of unknown methods with the error -32601, before initialize too"
	lines := f.record.all()
	first := lines[0]
	switch {
	case len(lines) > 1 && first.closed != "":
		s.find(Warning, "probe-fatal", "it ended at server/discover, a request that it does not know, and had to be started "+
			"anew: "+f.quote(first.closed), fix)
	case len(lines) > 1:
		s.find(Warning, "probe-upset", "it had to be started anew after server/discover, a request that it does not "+
			"know", fix)
	case len(f.opens) > 0 && f.probes[0].answered && f.probes[0].ended.After(f.opens[0].sent):
		s.find(Note, "start-slow", "its first answer came "+duration(f.probes[0].took())+" after it was asked",
			"have it start faster if that is so each time; a package runner that downloads is slow only once")
	case !f.probes[0].answered:
		s.find(Warning, "probe-silent", "it does not answer server/discover, a request that it does not know: each first "+
			"connect waits for that", fix)
	}
}

// handshake tells how the handshake went.
func (f *facts) handshake(r *Report) {
	s := r.step(Handshake)
	s.MS = ms(f.took)
	if f.err == nil {
		info := f.about.Info
		r.Server = &About{Name: info.Name, Version: info.Version, Revision: f.about.Revision, Era: "stateless"}
		if mcp.IsSession(f.about.Revision) {
			r.Server.Era = "session"
		}
		s.Text = strings.TrimSpace(f.quote(info.Name)+" "+f.quote(info.Version)) + ", protocol " + f.about.Revision
		if info.Name == "" {
			s.Text = "protocol " + f.about.Revision
			s.find(Warning, "server-unnamed", "it does not say what it is called (serverInfo)", "name it and its version there")
		}
		if exit, ok := errors.AsType[*transport.ExitError](f.pingErr); ok {
			s.find(Broken, "exit-after-initialize", exitText(exit)+" right after the handshake"+f.quoteLines(exit.Stderr),
				hint(exit.Stderr, exit.Code))
		}
		f.odd(s)
		return
	}
	if _, ok := errors.AsType[*client.VersionError](f.err); ok {
		s.Verdict, s.Text = Skipped, "there is no common revision"
		return
	}
	f.handshakeFault(s)
}

// handshakeFault tells why the handshake failed.
func (f *facts) handshakeFault(s *Step) {
	text := f.err.Error()
	refusal, refused := errors.AsType[*jsonrpc.Error](f.err)
	_, undecodable := errors.AsType[*rpc.DecodeError](f.err)
	exit, exited := errors.AsType[*transport.ExitError](f.err)
	opened := slices.ContainsFunc(f.opens, func(x exchange) bool { return x.result != nil })
	switch {
	case exited && opened:
		s.find(Broken, "exit-after-initialize", exitText(exit)+" right after its answer to initialize"+
			f.quoteLines(exit.Stderr), hint(exit.Stderr, exit.Code))
	case exited:
		s.find(Broken, "exit-in-handshake", exitText(exit)+" in the handshake"+f.quoteLines(exit.Stderr),
			hint(exit.Stderr, exit.Code))
	case refused:
		s.find(Broken, "handshake-refused", fmt.Sprintf("the server refuses the handshake: error %d: %s", refusal.Code,
			f.quote(refusal.Message)), "do what the message says; no server may refuse initialize of a revision that it speaks")
	case undecodable:
		s.find(Broken, "handshake-malformed", text,
			"answer initialize with protocolVersion, capabilities and serverInfo, as the specification has them")
	case errors.Is(f.err, errDeadline):
		s.find(Broken, "handshake-silent", "the handshake came to no end within "+duration(f.took)+": "+text,
			"see what the server waits for; it has sent something, but no answer to what it was asked")
	case errors.Is(f.err, transport.ErrTooLarge):
		s.find(Broken, "message-too-large", text, "answer the handshake with less")
	default:
		s.find(Broken, "connect-failed", text, "see what it says")
	}
}

// keepSessions is what to do about sessions that are lost.
const keepSessions = "have the server keep its sessions: behind several instances, all requests of a session must " +
	"come to the same one"

// odd tells what the client has logged, which is harmless to it and may not be so to others. What the lists tell in
// full is left out.
func (f *facts) odd(s *Step) {
	f.oddities.mu.Lock()
	defer f.oddities.mu.Unlock()
	for _, text := range f.oddities.all {
		if !strings.Contains(text, "lists the same item twice") {
			s.find(Warning, "odd", f.quote(text), "correct that: other hosts may be less lenient")
		}
	}
	told := errors.Is(f.pingErr, transport.ErrSessionLost) || slices.ContainsFunc(f.lists, func(l listing) bool {
		return errors.Is(l.err, transport.ErrSessionLost)
	})
	if n := f.renewed.Load(); n > 0 && !told {
		s.find(Warning, "session-lost", fmt.Sprintf("it forgot the session %d times while it was looked at", n), keepSessions)
	}
}

// capabilities tells what the server says that it offers.
func (f *facts) capabilities(r *Report) {
	s := r.step(Capabilities)
	has := f.about.Capabilities
	var declared []string
	for _, c := range []struct {
		name string
		has  bool
	}{
		{"tools", has.Tools != nil},
		{"prompts", has.Prompts != nil},
		{"resources", has.Resources != nil},
		{"logging", has.Logging != nil},
		{"completions", has.Completions != nil},
		{"tasks", has.Tasks != nil},
	} {
		if c.has {
			declared = append(declared, c.name)
		}
	}
	s.Text = strings.Join(declared, ", ")
	if declared == nil {
		s.Text = "none"
		if !slices.ContainsFunc(f.lists, func(l listing) bool { return l.count > 0 }) {
			s.find(Warning, "capabilities-none", "it declares nothing that it offers",
				"declare in the handshake's capabilities what there is")
		}
	}
	for _, l := range f.lists {
		if l.method == mcp.MethodListTools && l.count > 0 && has.Tools == nil {
			s.find(Warning, "capability-undeclared", fmt.Sprintf("it lists %d tools and does not declare them", l.count),
				`declare "tools": {} in the handshake's capabilities: many hosts don't ask for tools otherwise`)
		}
	}
}
