package tracing

import (
	"crypto/sha256"
	_ "embed" // for the parts of the page
	"encoding/base64"
	"html"
	"io"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"mcpwire/jsonrpc"
	"mcpwire/trace"
)

//go:embed page.css
var pageStyle string

//go:embed page.js
var pageScript string

// A pageLine, a pageCall and a pageEvent are what the page is told. Times are in milliseconds since the beginning, and
// indices those of the page's own lists; -1: none.
type pageLine struct {
	Label    string  `json:"label"`
	Carrier  string  `json:"carrier"`
	Revision string  `json:"revision"`
	About    string  `json:"about"`
	End      string  `json:"end"`
	To       float64 `json:"to"`
}

type pageCall struct {
	Line     int      `json:"line"`
	Out      bool     `json:"out"`
	ID       string   `json:"id"`
	Method   string   `json:"method"`
	Name     string   `json:"name"`
	Start    float64  `json:"start"`
	End      *float64 `json:"end"`
	Outcome  Outcome  `json:"outcome"`
	Detail   string   `json:"detail"`
	Bad      bool     `json:"bad"`
	Asked    int      `json:"asked"`
	Answered int      `json:"answered"`
	HTTP     int      `json:"http"`
	Status   int      `json:"status"`
	Progress int      `json:"progress"`
}

type pageEvent struct {
	At       float64          `json:"at"`
	Line     int              `json:"line"`
	Kind     trace.Kind       `json:"kind"`
	Arrow    string           `json:"arrow"`
	Out      bool             `json:"out"` // the lane in which it stands
	Title    string           `json:"title"`
	Bad      bool             `json:"bad"`
	Mark     bool             `json:"mark"` // it has a mark of its own in the timeline
	Calls    []int            `json:"calls"`
	Size     int64            `json:"size,omitzero"`
	MS       float64          `json:"ms,omitzero"`
	Delivery string           `json:"delivery,omitzero"`
	Message  string           `json:"message,omitzero"`
	Text     string           `json:"text,omitzero"`
	Error    string           `json:"error,omitzero"`
	HTTP     *trace.HTTPFacts `json:"http,omitzero"`
}

type pageData struct {
	Span   float64     `json:"span"`
	Lines  []pageLine  `json:"lines"`
	Calls  []pageCall  `json:"calls"`
	Events []pageEvent `json:"events"`
}

// WritePage writes a page for a browser, which needs nothing beside it and loads nothing: the events as a timeline and
// as a list. items are those of b that it shows, in their order. All that comes from the trace is in one text of JSON
// without characters that end or begin markup, and the page's policy lets no script run but its own.
func WritePage(w io.Writer, title string, b *Book, items []*Item) error {
	data, err := json.Marshal(newPage(b, items), jsontext.EscapeForHTML(true), jsontext.EscapeForJS(true),
		jsontext.AllowInvalidUTF8(true), json.Deterministic(true))
	if err != nil {
		return err
	}
	for _, part := range []string{
		"<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n",
		`<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src '`, hashOf(pageScript),
		"'; style-src '", hashOf(pageStyle),
		"'; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'\">\n",
		"<meta name=\"referrer\" content=\"no-referrer\">\n",
		"<meta name=\"viewport\" content=\"width=device-width\">\n<title>", html.EscapeString(title), "</title>\n<style>",
		pageStyle, "</style>\n</head>\n<body>\n<header>\n<h1>", html.EscapeString(title), "</h1>\n", pageControls,
		"<script type=\"application/json\" id=\"data\">", string(data), "</script>\n<script>", pageScript,
		"</script>\n</body>\n</html>\n",
	} {
		if _, err := io.WriteString(w, part); err != nil {
			return err
		}
	}
	return nil
}

const pageControls = `<input type="search" id="filter" placeholder="filter: words ( / )" aria-label="filter">
<label><input type="checkbox" id="bad"> only what failed</label>
<span><button id="farther" aria-label="zoom out">−</button> <button id="closer" aria-label="zoom in">+</button>
<button id="whole">whole</button></span>
<output id="count"></output>
<span class="faint">Ctrl and wheel: zoom · drag: pan · ↑ ↓ Enter: in the list</span>
</header>
<div id="timeline"><div id="inner"><div id="ruler"><div id="ticks"></div></div></div></div>
<main>
<div id="list" tabindex="0" role="listbox" aria-label="events"><div id="rows"></div></div>
<div id="detail"><p class="faint">Choose a bar or a row.</p></div>
</main>
`

// hashOf returns what a policy calls a script or style that stands in the page.
func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

func newPage(b *Book, items []*Item) pageData {
	p := pageData{
		Span: ms(b.End.Sub(b.Start)), Lines: []pageLine{}, Calls: []pageCall{}, Events: make([]pageEvent, 0, len(items)),
	}
	lines, calls, events := map[*Line]int{}, map[*Call]int{}, map[int]int{-1: -1}
	for at, i := range items {
		events[i.Index] = at
	}
	place := func(index int) int {
		if at, ok := events[index]; ok {
			return at
		}
		return -1
	}
	for at, l := range b.Lines {
		lines[l] = at
		p.Lines = append(p.Lines, pageLine{
			Label: l.Label(), Carrier: l.Carrier, Revision: l.Revision, About: l.About, End: l.End, To: ms(l.Last.Sub(b.Start)),
		})
	}
	for _, c := range b.Calls {
		if place(c.Asked) < 0 {
			continue
		}
		calls[c] = len(p.Calls)
		one := pageCall{
			Line: lines[c.Line], Out: c.Out, ID: c.ID.String(), Method: c.Method, Name: c.Name, Start: ms(c.Start.Sub(b.Start)),
			Outcome: c.Outcome, Detail: c.Detail, Bad: c.Bad(), Asked: place(c.Asked), Answered: place(c.Answered),
			HTTP: place(c.HTTP), Status: c.Status, Progress: c.Progress,
		}
		if !c.End.IsZero() {
			end := ms(c.End.Sub(b.Start))
			one.End = &end
		}
		p.Calls = append(p.Calls, one)
	}
	for _, i := range items {
		e := pageEvent{
			At: ms(i.Time.Sub(b.Start)), Line: lines[i.Line], Kind: i.Kind, Title: i.title(), Bad: i.Bad(), Calls: []int{},
			Size: i.Size, MS: i.Took, Delivery: i.Delivery, Message: string(i.Message), Text: i.Text, Error: i.Error,
			HTTP: i.Event.HTTP,
		}
		e.Arrow, e.Out = i.way()
		e.Mark = true
		for _, c := range i.Calls {
			if at, ok := calls[c]; ok {
				e.Calls = append(e.Calls, at)
				e.Mark = e.Mark && c.Asked != i.Index && c.Answered != i.Index && c.HTTP != i.Index
			}
		}
		p.Events = append(p.Events, e)
	}
	return p
}

// way tells which way an event went, and whether it stands among what goes out.
func (i *Item) way() (arrow string, out bool) {
	switch i.Kind {
	case trace.Sent:
		return "→", true
	case trace.Received, trace.Noise, trace.Oversize, trace.Stderr:
		return "←", false
	default:
		return "·", true
	}
}

// titleBytes is how much of a text stands in a title.
const titleBytes = 200

// title tells in short what an event is.
func (i *Item) title() string {
	var words []string
	for _, n := range i.Notes {
		switch n.Kind {
		case jsonrpc.Response:
			words = append(words, "answer", n.Method, n.Name, n.Error)
		case jsonrpc.Invalid:
			words = append(words, "message", beginning(i.Text))
		default:
			words = append(words, n.Method, n.Name)
		}
	}
	if len(words) == 0 {
		words = append(words, string(i.Kind), i.Carrier)
		for _, c := range i.Calls {
			words = append(words, c.Title())
		}
		if x := i.HTTP(); x.Method != "" {
			words = append(words, x.Method, x.URL)
		}
		words = append(words, beginning(i.Text), i.Error)
	}
	return strings.Join(strings.Fields(strings.Join(words, " ")), " ")
}

func beginning(text string) string {
	if len(text) <= titleBytes {
		return text
	}
	return strings.ToValidUTF8(text[:titleBytes], "") + "…"
}
