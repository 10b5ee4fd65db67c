package httpwire_test

import (
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"mcpwire/internal/httpwire"
)

// sockets counts the connections of a server.
type sockets struct {
	*httptest.Server

	none chan struct{} // told when none is open any more

	mu           sync.Mutex
	opened, open int
}

func countSockets(t *testing.T, handler http.HandlerFunc) *sockets {
	t.Helper()
	s := &sockets{Server: httptest.NewUnstartedServer(handler), none: make(chan struct{}, 10)}
	s.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch state {
		case http.StateNew:
			s.opened++
			s.open++
		case http.StateClosed, http.StateHijacked:
			if s.open--; s.open == 0 {
				s.none <- struct{}{}
			}
		case http.StateActive, http.StateIdle:
		}
	}
	s.Start()
	t.Cleanup(s.Close)
	return s
}

// count returns how many have been opened so far.
func (s *sockets) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.opened
}

// endpoint returns a new one on the server, and a function that closes it.
func (s *sockets) endpoint(t *testing.T, o httpwire.Options) *httpwire.Endpoint {
	t.Helper()
	o.URL = s.URL
	e, err := httpwire.New(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func ask(t *testing.T, e *httpwire.Endpoint) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	resp, _, err := e.Do(ctx, httpwire.Request{Method: http.MethodGet})
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	_, err = io.Copy(io.Discard, resp.Body)
	return err
}

func askWell(t *testing.T, e *httpwire.Endpoint) {
	t.Helper()
	if err := ask(t, e); err != nil {
		t.Fatal(err)
	}
}

func TestEndpointsOnOneHostShareConnectionsUntilTheLastIsClosed(t *testing.T) {
	s := countSockets(t, func(http.ResponseWriter, *http.Request) {})
	first, second := s.endpoint(t, httpwire.Options{}), s.endpoint(t, httpwire.Options{})
	for range 3 {
		askWell(t, first)
		askWell(t, second)
	}
	first.Close()
	first.Close()
	askWell(t, second)
	if opened := s.count(); opened != 1 {
		t.Errorf("%d connections were opened", opened)
	}
	second.Close()
	select {
	case <-s.none:
	case <-time.After(5 * time.Second):
		t.Error("a connection is left")
	}
}

func TestAnEndpointWithWishesOfItsOwnHasConnectionsOfItsOwn(t *testing.T) {
	s := countSockets(t, func(http.ResponseWriter, *http.Request) {})
	for _, o := range []httpwire.Options{
		{},
		{TLS: &tls.Config{MinVersion: tls.VersionTLS13}},
		{Wrap: func(base http.RoundTripper) http.RoundTripper { return base }},
	} {
		askWell(t, s.endpoint(t, o))
	}
	if opened := s.count(); opened != 3 {
		t.Errorf("%d connections were opened, not 3", opened)
	}
}

// Who connects anew after a failure must not get a connection that is as dead as the one before.
func TestAfterAFailureANewEndpointHasNewConnections(t *testing.T) {
	hang := make(chan struct{})
	var silent atomic.Bool
	s := countSockets(t, func(_ http.ResponseWriter, r *http.Request) {
		if silent.Load() {
			select {
			case <-hang:
			case <-r.Context().Done():
			}
		}
	})
	defer close(hang)
	first, bystander := s.endpoint(t, httpwire.Options{}), s.endpoint(t, httpwire.Options{})
	askWell(t, first)
	askWell(t, bystander)
	silent.Store(true)
	if ask(t, first) == nil {
		t.Fatal("it did not fail")
	}
	silent.Store(false)
	askWell(t, bystander)
	before := s.count()
	askWell(t, s.endpoint(t, httpwire.Options{}))
	askWell(t, s.endpoint(t, httpwire.Options{}))
	if opened := s.count(); opened != before+1 {
		t.Errorf("%d connections were opened, not one", opened-before)
	}
}
