package transport_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"mcpwire/transport"
)

func TestErrorTexts(t *testing.T) {
	closed := func(exit *transport.ExitError) error {
		return &transport.Error{Server: "demo", Op: "ping", Err: fmt.Errorf("%w: %w", transport.ErrClosed, exit)}
	}
	for _, row := range []struct {
		err  error
		want string
	}{
		{&transport.Error{Err: transport.ErrClosed}, "transport closed"},
		{
			&transport.Error{
				Server: "demo", Op: "tools/call add",
				Err: &transport.TimeoutError{What: "request", After: 30 * time.Second},
			},
			"demo: tools/call add: request timeout after 30000ms",
		},
		{closed(&transport.ExitError{Code: 0}), "demo: ping: transport closed: exit status 0"},
		{
			closed(&transport.ExitError{Command: "srv", Code: 2, Stderr: "Error: DEMO_KEY is not set\n", Noise: []string{"x"}}),
			"demo: ping: transport closed: exit status 2 (srv); stderr: Error: DEMO_KEY is not set",
		},
		{
			closed(&transport.ExitError{Code: -1, Signal: "SIGKILL", Stderr: "one\ntwo\n"}),
			"demo: ping: transport closed: killed by SIGKILL; stderr:\n  one\n  two",
		},
		{
			closed(&transport.ExitError{Code: -1, Running: true, Noise: []string{"Usage: srv PORT"}}),
			"demo: ping: transport closed: the server closed its output; stdout: Usage: srv PORT",
		},
		{
			closed(&transport.ExitError{Code: -1, Running: true, Input: true}),
			"demo: ping: transport closed: the server closed its input",
		},
		{
			&transport.StatusError{Status: 503, Text: "Service Unavailable", RetryAfter: 2 * time.Second, Excerpt: "busy"},
			"HTTP 503: Service Unavailable: busy (try again after 2s)",
		},
		{
			&transport.StatusError{Status: 401, Text: "Unauthorized", Challenge: "Bearer", AuthServer: "https://a"},
			"HTTP 401: Unauthorized (WWW-Authenticate: Bearer) (Mcp-Auth-Server: https://a)",
		},
	} {
		if got := row.err.Error(); got != row.want {
			t.Errorf("got %q, want %q", got, row.want)
		}
	}
}

func TestOnlyTheLastLinesAreQuoted(t *testing.T) {
	var text string
	for i := range 30 {
		text += fmt.Sprintf("line %d\n", i)
	}
	want := "; stderr:"
	for i := 18; i < 30; i++ {
		want += fmt.Sprintf("\n  line %d", i)
	}
	if got := transport.Quote("stderr", text); got != want {
		t.Errorf("got %q", got)
	}
}

func TestTheCauseOfAnErrorIsReachable(t *testing.T) {
	exit := &transport.ExitError{Code: 3}
	err := error(&transport.Error{Err: fmt.Errorf("%w: %w", transport.ErrClosed, exit)})
	var found *transport.ExitError
	if !errors.Is(err, transport.ErrClosed) || !errors.As(err, &found) || found != exit {
		t.Error("it is not")
	}
	if (&transport.Error{}).Delivery != transport.MaybeDelivered {
		t.Error("a forgotten delivery must be the cautious one")
	}
}
