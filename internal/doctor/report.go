// Package doctor finds out why a server does not work. It walks the way that a real connection walks: it connects with
// mcpwire.Connect, lists, pings and closes, and reads what happened from the trace, the answers and the errors.
package doctor

import (
	"slices"
	"time"

	"mcpwire/internal/redact"
)

// A Verdict tells how a step or a server stands.
type Verdict string

// The verdicts, from the best to the gravest.
const (
	Skipped Verdict = "skipped" // there was nothing to look at, or no way to
	OK      Verdict = "ok"
	Note    Verdict = "note"    // worth knowing; nothing is wrong
	Warning Verdict = "warning" // it works, and something should be changed
	Login   Verdict = "login"   // somebody must log in
	Broken  Verdict = "broken"
)

// gravity orders verdicts.
var gravity = map[Verdict]int{Skipped: 0, OK: 1, Note: 2, Warning: 3, Login: 4, Broken: 5}

func worse(a, b Verdict) Verdict {
	if gravity[b] > gravity[a] {
		return b
	}
	return a
}

// A Finding is one fact that somebody should act upon, or know.
type Finding struct {
	ID      string  `json:"id"` // stays the same from version to version
	Verdict Verdict `json:"verdict"`
	Text    string  `json:"text"` // what was found
	Fix     string  `json:"fix"`  // what to change
}

// A Step is one part of the way. Its names stay the same from version to version.
type Step struct {
	Name     string    `json:"step"`
	Verdict  Verdict   `json:"verdict"` // the gravest of its findings; notes leave it ok
	MS       float64   `json:"ms"`      // how long it took, in milliseconds; 0 where that means nothing
	Text     string    `json:"text"`    // what there is, or why it was skipped
	Findings []Finding `json:"findings"`
}

// The names of the steps, in their order. Those of a program come between Variables and Version, or those of the web.
const (
	Entry        = "entry"
	Variables    = "variables"
	Command      = "command"
	Spawn        = "spawn"
	FirstBytes   = "first bytes"
	Network      = "network"
	Endpoint     = "endpoint"
	LoginState   = "login"
	Version      = "version"
	Handshake    = "handshake"
	Capabilities = "capabilities"
	Tools        = "tools"
	Prompts      = "prompts"
	Resources    = "resources"
	Ping         = "ping"
	Shutdown     = "shutdown"
	Leftovers    = "leftovers"
)

// A List is what was found of one list of the server.
type List struct {
	Method string  `json:"method"`
	Count  int     `json:"count"`
	Pages  int     `json:"pages"`
	Bytes  int64   `json:"bytes"`  // of the answers on the wire
	Tokens int     `json:"tokens"` // what the definitions cost a model, about; of tools only
	MS     float64 `json:"ms"`
}

// A Report is what was found of one server. Its members in JSON stay as they are from version to version.
type Report struct {
	Name      string  `json:"name"`
	Transport string  `json:"transport"` // as configured: "stdio", "http" or "sse"; empty if it is not known
	Verdict   Verdict `json:"verdict"`   // ok, warning, login, broken or skipped
	MS        float64 `json:"ms"`        // the whole examination, in milliseconds
	Server    *About  `json:"server"`    // nil until it has told
	Steps     []*Step `json:"steps"`
	Lists     []List  `json:"lists"`
}

// About is what a server says of itself.
type About struct {
	Name     string `json:"name"`
	Version  string `json:"version"`
	Revision string `json:"revision"` // of the protocol that is spoken
	Era      string `json:"era"`      // "session" or "stateless"
}

// step adds a step.
func (r *Report) step(name string) *Step {
	s := &Step{Name: name, Verdict: OK, Findings: []Finding{}}
	r.Steps = append(r.Steps, s)
	return s
}

// skip adds those of the steps that are not there yet, as such that there was no way to look at.
func (r *Report) skip(why string, names []string) {
	for _, name := range names {
		if slices.ContainsFunc(r.Steps, func(s *Step) bool { return s.Name == name }) {
			continue
		}
		s := r.step(name)
		s.Verdict, s.Text = Skipped, why
	}
}

// has reports whether any step has a finding of that id.
func (r *Report) has(id string) bool {
	for _, s := range r.Steps {
		if slices.ContainsFunc(s.Findings, func(f Finding) bool { return f.ID == id }) {
			return true
		}
	}
	return false
}

// find adds a finding to a step.
func (s *Step) find(v Verdict, id, text, fix string) {
	s.Findings = append(s.Findings, Finding{ID: id, Verdict: v, Text: text, Fix: fix})
	if v != Note {
		s.Verdict = worse(s.Verdict, v)
	}
}

// finish sums the report up, and keeps secrets out of all that it says.
func (r *Report) finish(began time.Time, mask func(string) string) *Report {
	r.MS = ms(time.Since(began))
	r.Verdict = Skipped
	for _, s := range r.Steps {
		r.Verdict = worse(r.Verdict, s.Verdict)
		s.Text = clean(s.Text, mask)
		for i := range s.Findings {
			f := &s.Findings[i]
			f.Text, f.Fix = clean(f.Text, mask), clean(f.Fix, mask)
		}
	}
	if r.Server != nil {
		for _, text := range []*string{&r.Server.Name, &r.Server.Version, &r.Server.Revision} {
			*text = redact.Excerpt([]byte(mask(*text)), nameBytes)
		}
	}
	if r.Lists == nil {
		r.Lists = []List{}
	}
	return r
}

// Bounds of what is shown, in bytes.
const (
	nameBytes  = 100
	quoteBytes = 200
	textBytes  = 1500
)

// clean returns a text of the report on one line, bounded and without secrets.
func clean(text string, mask func(string) string) string {
	return redact.Excerpt([]byte(mask(text)), textBytes)
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }
