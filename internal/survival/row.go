// Package survival is a catalogue of hostile servers, and of what a client must do with each. Its rows are run by the
// tests, and by users on their own platforms: mcpwire selftest.
package survival

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/config"
	"mcpwire/mcp"
)

// A Row is one hostile server. It has either a Pipe or a Web.
type Row struct {
	// Name is unique: the kind of line, the kind of fault and its name, as in "pipe/noise/text".
	Name string
	// Does and Must are what the server does and what the client must do, for the table that people read.
	Does, Must string

	Pipe func(s *Pipe)                              // a server process; it is given its standard files
	Web  func(w *Web) http.Handler                  // a server on loopback; it is made anew for each run
	With func(s *config.Server, o *mcpwire.Options) // changes what the client is given; may be nil
	Try  func(t *Trial)                             // what the client does and what must come of it; nil: Works
	// Within is how long Try may take (0: 10 s). A second more, and the client hangs.
	Within time.Duration
	// Alone is set where the row must be run by itself, because it measures memory or needs the machine.
	Alone bool
	// Memory is how many bytes of heap the row may take above what was there before, and makes it run Alone (0: it is not
	// measured).
	Memory int64
}

func (r Row) within() time.Duration {
	if r.Within == 0 {
		return 10 * time.Second
	}
	return r.Within
}

// A Trial is one run of a row. Its methods are called on the goroutine that runs Try.
type Trial struct {
	Context context.Context // ends when the row's time is over
	Server  config.Server
	Options mcpwire.Options
	Web     *Web   // the row's server, if it is one on the web
	Folder  string // an empty one, which goes when the trial ends; a server process finds it as Pipe.Folder

	mu     sync.Mutex
	wrong  []string
	client *client.Client
}

// Noted counts what a server process has noted with Pipe.Note, over all of its lives.
func (t *Trial) Noted(what string) int { return strings.Count(readNotes(t.Folder), what+"\n") }

// Notes checks how often a server process has noted something.
func (t *Trial) Notes(what string, least, most int) {
	if n := t.Noted(what); n < least || n > most {
		t.Fail("the server has noted %q %d times", what, n)
	}
}

// Fail notes that something is not as it must be. It may be called from several goroutines.
func (t *Trial) Fail(format string, args ...any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.wrong = append(t.wrong, fmt.Sprintf(format, args...))
}

// Dial connects, and returns the error. The connection is closed when the trial ends.
func (t *Trial) Dial() (*client.Client, error) {
	c, err := mcpwire.Connect(t.Context, t.Server, t.Options)
	if err == nil {
		t.client = c
	}
	return c, err
}

// Connect is Dial where it must succeed. It ends the trial where it does not.
func (t *Trial) Connect() *client.Client {
	c, err := t.Dial()
	if err != nil {
		t.Fail("it can't connect: %v", err)
		panic(abandoned{})
	}
	return c
}

// abandoned is what a trial panics with when there is no use in going on.
type abandoned struct{}

// Call calls the tool echo, which every server of the catalogue has, with a timeout of a second.
func (t *Trial) Call(c *client.Client) (*mcp.CallToolResult, error) {
	return t.callWithin(c, time.Second)
}

func (t *Trial) callWithin(c *client.Client, timeout time.Duration) (*mcp.CallToolResult, error) {
	return c.CallTool(t.Context, "echo", map[string]string{"text": "hello"}, &client.CallOptions{Timeout: timeout})
}

// unhurried is the timeout of a call that silence must not end: rows share the machine.
const unhurried = time.Minute

// Works makes a call, which must succeed. It may take as long as the row may.
func (t *Trial) Works(c *client.Client) {
	result, err := t.callWithin(c, unhurried)
	switch {
	case err != nil:
		t.Fail("a call that must work fails: %v", err)
	case len(result.Content) == 0 || result.Content[0].Text != "hello":
		t.Fail("a call that must work returns %+v", result)
	}
}

// Fails makes a call, whose error must have all the parts in its text. Its timeout is a second.
func (t *Trial) Fails(c *client.Client, parts ...string) {
	_, err := t.Call(c)
	t.WantError(err, parts...)
}

// WantError checks that there is an error, with all the parts in its text.
func (t *Trial) WantError(err error, parts ...string) {
	if err == nil {
		t.Fail("there is no error; its text would have %q", parts)
		return
	}
	missing := slices.DeleteFunc(slices.Clone(parts), func(p string) bool { return strings.Contains(err.Error(), p) })
	if len(missing) > 0 {
		t.Fail("the error has no %q: %v", missing, err)
	}
}

// Rows returns the whole catalogue, in the order in which it is shown.
func Rows() []Row { return slices.Concat(pipeRows(), webRows(), manyRows()) }
