package doctor

import (
	"errors"
	"fmt"
	"net/http"

	"mcpwire/config"
	"mcpwire/internal/proc"
	"mcpwire/mcp"
	"mcpwire/transport"
)

// ping tells whether the server gives a sign of life.
func (f *facts) ping(r *Report) {
	s := r.step(Ping)
	switch {
	case errors.Is(f.pingErr, transport.ErrClosed):
		s.Verdict, s.Text = Skipped, "the connection had ended"
	case errors.Is(f.pingErr, transport.ErrSessionLost):
		s.find(Broken, "session-lost", f.pingErr.Error(), keepSessions)
	case f.pingErr != nil:
		s.find(Broken, "ping-failed", f.pingErr.Error(), "answer ping at once, whatever else is going on")
	default:
		s.MS = ms(f.pingTook)
		s.Text = "answered after " + duration(f.pingTook)
		if sent := f.record.of(mcp.MethodPing, 0); len(sent) > 0 && sent[len(sent)-1].refusal != nil {
			s.find(Warning, "ping-refused", "it refuses ping, which every server of its revision must answer",
				"answer it with an empty result: hosts take a refusal for a dead server")
		}
	}
}

// shutdown tells how the server ended when it was told to.
func (f *facts) shutdown(r *Report) {
	s := r.step(Shutdown)
	s.MS = ms(f.closeTook)
	if f.kind != config.Stdio {
		f.sessionEnd(s)
		return
	}
	last := f.record.last()
	defer f.leftovers(r.step(Leftovers), last)
	if last.exit == nil {
		s.Verdict, s.Text = Skipped, "it has not ended"
		return
	}
	how := fmt.Sprintf("exit status %d", last.exit.Code)
	if last.exit.Signal != "" {
		how = "ended by " + last.exit.Signal
	}
	const fix = "end the program when its standard input ends: hosts close that first, and wait for seconds"
	switch proc.Step(last.exit.After) {
	case proc.StepInput:
		s.Text = fmt.Sprintf("it ended %s after the end of its input (%s)", duration(last.leaving), how)
		switch {
		case last.exit.Signal != "":
			s.find(Warning, "exit-crash", "it crashed when its input ended: "+how, "see why; it may lose what it should save")
		case last.exit.Code != 0:
			s.find(Note, "exit-status", "it ended with "+how+" when its input ended", "end with 0 when all is well")
		}
	case proc.StepTerm:
		s.Text = fmt.Sprintf("it ended %s after the end of its input (%s)", duration(last.leaving), how)
		s.find(Warning, "ignores-eof", "it went on when its input ended, and ended only when it was asked to (SIGTERM)", fix)
	case proc.StepKill:
		s.Text = fmt.Sprintf("it was killed %s after the end of its input", duration(last.leaving))
		s.find(Warning, "ignores-term", "it went on when its input ended and when it was asked to end (SIGTERM), and had to "+
			"be killed", fix+"; and don't ignore SIGTERM")
	default:
		s.Text = "it had ended by itself: " + how
		if r.has("exit-after-initialize") || r.has("exit-in-list") {
			s.Verdict = Skipped
			return
		}
		s.find(Broken, "exit-early", "it ended by itself while it was looked at: "+how, "see why: "+last.closed)
	}
}

// leftovers tells of processes that the server has left behind.
func (f *facts) leftovers(s *Step, last line) {
	switch {
	case f.closeErr != nil:
		s.find(Broken, "stuck", f.closeErr.Error(), "see what holds these processes: a device, or another user")
	case last.exit != nil && last.exit.Left:
		s.find(Warning, "leaves-processes", "processes that it had started went on when it had ended, and had to be ended",
			"have the server end what it starts; behind a wrapper, use exec so that signals and the end of the input "+
				"get through")
	default:
		s.Text = "none"
	}
}

// sessionEnd tells how an HTTP session was ended.
func (f *facts) sessionEnd(s *Step) {
	s.Text = "nothing to end: there is no session"
	for _, v := range f.record.visits() {
		if v.facts.Method != http.MethodDelete {
			continue
		}
		switch status := v.facts.Status; status {
		case 0:
			s.Text = "the end of the session was not answered"
		case http.StatusMethodNotAllowed:
			s.Text = "the server lets no client end a session, as it may (HTTP 405)"
		default:
			s.Text = fmt.Sprintf("the session was ended (HTTP %d)", status)
		}
	}
	if f.closeErr != nil {
		s.find(Warning, "close-failed", f.closeErr.Error(), "see what it says")
	}
}
