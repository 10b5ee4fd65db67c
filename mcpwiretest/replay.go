// Package mcpwiretest has tests of what uses MCP servers run without them: a server answers from a recording that
// "mcpwire record", or the flag --trace of any of its commands, has made of a real one. No process is started.
package mcpwiretest

import (
	"context"
	"io"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"mcpwire/client"
	"mcpwire/internal/localhost"
	"mcpwire/replay"
	"mcpwire/transport"
	"mcpwire/transport/transporttest"
)

// An Option changes how a recording is replayed.
type Option func(*settings)

type settings struct {
	replay replay.Options
	choice replay.Choice
	client client.Options
	quiet  bool
}

// Strict has the test fail unless the requests come in the recorded order, as often as recorded, and all of them do.
func Strict() Option { return func(s *settings) { s.replay.Strict = true } }

// Delays has the server answer as late as the recorded one did.
func Delays() Option { return func(s *settings) { s.replay.Delays = true } }

// Server takes the server of that name, where the recording has several.
func Server(name string) Option { return func(s *settings) { s.choice.Server = name } }

// Line takes one connection of the recording alone.
func Line(number int) Option { return func(s *settings) { s.choice.Line = number } }

// Client sets the options of the client that Replay returns.
func Client(o client.Options) Option { return func(s *settings) { s.client = o } }

// Lenient has the test not fail where the host asks for what was not recorded: it gets an error.
func Lenient() Option { return func(s *settings) { s.quiet = true } }

// Replay returns a client that is connected to a server which answers from a recording. The connection is closed at the
// end of the test. The test fails at once if the file is no recording or does not hold the client's handshake, and it
// fails when something is asked that was not recorded, with a text that tells the nearest request that was.
func Replay(t testing.TB, file string, options ...Option) *client.Client {
	t.Helper()
	s := read(options)
	c, err := client.Connect(t.Context(), Transport(t, file, options...), s.client)
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

// Transport is Replay without a client: what carries one to the server.
func Transport(t testing.TB, file string, options ...Option) transport.Transport {
	t.Helper()
	server := open(t, file, options)
	return transporttest.NewMemory(func(s *transporttest.Server) {
		ctx, cancel := context.WithCancel(context.Background())
		defer cancel()
		go func() {
			select {
			case <-s.Done():
				cancel()
			case <-ctx.Done():
			}
		}()
		read := func() ([]byte, error) {
			if message, ok := s.Read(); ok {
				return message, nil
			}
			return nil, io.EOF
		}
		_ = server.Serve(ctx, read, func(message []byte) error { // neither reading nor writing fails
			s.Write(message)
			return nil
		})
	})
}

// ReplayHTTP returns the URL of a server on this machine that answers from a recording over Streamable HTTP until the
// test ends.
func ReplayHTTP(t testing.TB, file string, options ...Option) (url string) {
	t.Helper()
	server := open(t, file, options)
	web := httptest.NewServer(localhost.Only(server.Handler()))
	t.Cleanup(func() {
		server.Close() // its streams are what the other would wait for
		web.CloseClientConnections()
		web.Close()
	})
	return web.URL + "/mcp"
}

func read(options []Option) *settings {
	s := &settings{}
	s.client.ConnectTimeout = 10 * time.Second
	for _, o := range options {
		o(s)
	}
	return s
}

// open reads a recording, and has the test fail where it does not match.
func open(t testing.TB, path string, options []Option) *replay.Server {
	t.Helper()
	s := read(options)
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	recording, err := replay.Load(file, s.choice)
	_ = file.Close() // it was read only
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, note := range recording.Notes() {
		t.Logf("%s: %s", path, note)
	}
	var mu sync.Mutex
	ended := false
	s.replay.File = filepath.Base(path)
	s.replay.OnMismatch = func(text string) {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case ended: // the test has ended: nothing may be told of it any more
		case s.quiet:
			t.Log("no answer: " + text)
		default:
			t.Errorf("no answer: %s", text)
		}
	}
	server := replay.NewServer(recording, s.replay)
	t.Cleanup(func() {
		server.Close()
		mu.Lock()
		ended = true
		mu.Unlock()
		if err := server.Err(); err != nil && s.replay.Strict && !t.Failed() {
			t.Error(err)
		}
	})
	return server
}
