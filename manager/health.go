package manager

import (
	"context"
	"errors"
	"time"

	"mcpwire/client"
	"mcpwire/transport"
)

// pingAgain is how long after a silence the server is asked once more.
const pingAgain = time.Second

// health is what a supervisor knows of its server's signs of life. It belongs to the supervisor's loop.
type health struct {
	asking   bool
	silences int   // in a row
	answered int64 // calls that the server had answered when it was last looked at
}

// resetPing starts the time after which an idle line is asked.
func (s *supervisor) resetPing() {
	s.health.answered = s.answered.Load()
	if d := s.m.options.PingInterval; d > 0 {
		s.pingTimer.Reset(d)
	}
}

// ping asks the server for a sign of life, beside the loop, unless it is busy: a server that does one thing at a time
// can't answer while it runs a call, which has its own clock.
func (s *supervisor) ping() {
	switch {
	case s.client == nil || s.health.asking:
		return
	case s.calls.Load() > 0, s.health.silences == 0 && s.health.answered != s.answered.Load():
		s.resetPing()
		return
	}
	s.health.asking = true
	c, line, answered := s.client, s.line, s.answered.Load()
	limit := s.m.options.PingTimeout
	s.beside.Go(func() {
		cause := &transport.TimeoutError{What: "ping", After: limit}
		ctx, cancel := context.WithTimeoutCause(line, limit, cause)
		defer cancel()
		err := c.Ping(ctx)
		s.ask(func() { s.pinged(c, err, answered) })
	})
}

// pinged is told how the server answered. answered is how many calls it had answered when it was asked.
func (s *supervisor) pinged(c *client.Client, err error, answered int64) {
	if s.client != c || c.Err() != nil {
		return
	}
	s.health.asking = false
	switch {
	case err == nil, s.calls.Load() > 0, s.answered.Load() != answered:
		s.health.silences = 0
		s.resetPing()
	case wantsLogin(err):
		s.loggedOut(c, err)
	case s.health.silences == 0:
		s.health.silences = 1
		s.pingTimer.Reset(pingAgain)
	default:
		s.lost(errors.Join(&transport.Error{Server: s.name, Err: ErrSilent}, err))
	}
}

// suspect has a server asked for a sign of life at once, as a call to it got no answer.
func (s *supervisor) suspect() {
	s.health.answered = s.answered.Load()
	if s.m.options.PingInterval > 0 {
		s.pingTimer.Reset(0)
	}
}

// stale is how old a failed attempt must be before a call may have a waiting server tried again at once.
const stale = 5 * time.Second
