package tracing_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mcpwire/internal/tracing"
	"mcpwire/trace"
)

var start = time.Date(2026, 7, 28, 12, 0, 0, 0, time.UTC)

// read makes a book of lines of a file, which get one time a millisecond after the other, the server "s" and line 1
// unless they say otherwise. In them ' stands for ".
func read(t *testing.T, lines ...string) (*tracing.Book, []*tracing.Item) {
	t.Helper()
	b := &tracing.Book{}
	var items []*tracing.Item
	for i, text := range lines {
		e, err := trace.Parse([]byte(strings.ReplaceAll(text, "'", `"`)))
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		if e.Time.IsZero() {
			e.Time = start.Add(time.Duration(i) * time.Millisecond)
		}
		if e.Server == "" {
			e.Server = "s"
		}
		if e.Line == 0 {
			e.Line = 1
		}
		if e.Size == 0 {
			e.Size = int64(len(e.Message))
		}
		items = append(items, b.Add(e))
	}
	return b, items
}

func sent(message string) string {
	return `{'event':'sent','message':{'jsonrpc':'2.0',` + message + `}}`
}

func received(message string) string {
	return `{'event':'received','message':{'jsonrpc':'2.0',` + message + `}}`
}

// onWeb is a line of an HTTP carrier.
func onWeb(line string, exchange int) string {
	return fmt.Sprintf(`{'exchange':%d,`, exchange) + line[1:]
}

// brief is a call in short.
func brief(c *tracing.Call) string {
	text := "←"
	if c.Out {
		text = "→"
	}
	text += fmt.Sprintf(" %s %s %s %s", c.Line.Label(), c.ID, c.Title(), c.Outcome)
	if d, ok := c.Took(); ok {
		text += " " + d.String()
	}
	if c.Detail != "" {
		text += ": " + c.Detail
	}
	if c.Status != 0 {
		text += fmt.Sprintf(" (%d)", c.Status)
	}
	if c.Progress != 0 {
		text += fmt.Sprintf(" %d×", c.Progress)
	}
	if c.Late {
		text += " late"
	}
	return text
}

func TestCallsArePutTogether(t *testing.T) {
	const opening = `{'event':'opening'}`
	for _, row := range []struct {
		name  string
		lines []string
		want  []string
	}{
		{
			"answers in another order",
			[]string{
				sent(`'id':1,'method':'a'`), sent(`'id':2,'method':'tools/call','params':{'name':'add'}`),
				received(`'id':2,'result':{}`), received(`'id':1,'result':{}`),
			},
			[]string{"→ s 1 a ok 3ms", "→ s 2 tools/call add ok 1ms"},
		},
		{
			"the same id in both directions",
			[]string{
				sent(`'id':1,'method':'a'`), received(`'id':1,'method':'roots/list'`), sent(`'id':1,'result':{}`),
				received(`'id':1,'error':{'code':-32601,'message':'no'}`),
			},
			[]string{"→ s 1 a error 3ms: -32601: no", "← s 1 roots/list ok 1ms"},
		},
		{
			"an id that a server writes otherwise",
			[]string{sent(`'id':7,'method':'a'`), received(`'id':'7','result':1`)},
			[]string{"→ s 7 a ok 1ms"},
		},
		{
			"several lines of one server, and another server",
			[]string{
				opening, sent(`'id':1,'method':'a'`), `{'event':'opening','line':2}`,
				`{'event':'sent','line':2,'message':{'jsonrpc':'2.0','id':1,'method':'b'}}`,
				`{'event':'received','line':2,'message':{'jsonrpc':'2.0','id':1,'result':{}}}`,
				`{'event':'received','server':'t','message':{'jsonrpc':'2.0','id':1,'result':{}}}`,
			},
			[]string{"→ s 1 a unanswered", "→ s#2 1 b ok 1ms"},
		},
		{
			"a line that is opened anew under the same number",
			[]string{opening, sent(`'id':1,'method':'a'`), opening, received(`'id':1,'result':{}`)},
			[]string{"→ s 1 a unanswered"},
		},
		{
			"cancelled, and answered too late",
			[]string{
				sent(`'id':1,'method':'a'`),
				sent(`'method':'notifications/cancelled','params':{'requestId':1,'reason':'enough'}`),
				received(`'id':1,'result':{}`),
			},
			[]string{"→ s 1 a cancelled 1ms: enough late"},
		},
		{
			"a request of the server that it cancels",
			[]string{
				received(`'id':'x','method':'roots/list'`),
				received(`'method':'notifications/cancelled','params':{'requestId':'x'}`),
			},
			[]string{`← s "x" roots/list cancelled 1ms`},
		},
		{
			"a failure is joined by its exchange",
			[]string{
				onWeb(sent(`'id':1,'method':'tools/call','params':{'name':'t'}`), 4), onWeb(sent(`'id':2,'method':'b'`), 5),
				`{'event':'failed','exchange':4,'error':'s: tools/call t: request timeout after 1ms'}`,
				`{'event':'failed','exchange':5,'error':'s: b: interrupted','givenUp':true}`,
			},
			[]string{"→ s 1 tools/call t failed 2ms: request timeout after 1ms", "→ s 2 b cancelled 2ms: interrupted"},
		},
		{
			"what is under way when we close is no failure",
			[]string{
				onWeb(sent(`'id':1,'method':'subscriptions/listen'`), 1), `{'event':'closing'}`,
				`{'event':'failed','exchange':1,'error':'transport closed'}`,
			},
			[]string{"→ s 1 subscriptions/listen cancelled 2ms: transport closed"},
		},
		{
			"HTTP is joined by its exchange, also an error without an id on a call's own stream",
			[]string{
				onWeb(sent(`'id':1,'method':'a'`), 1), onWeb(sent(`'id':2,'method':'b'`), 2),
				`{'event':'http','exchange':2,'http':{'method':'POST','url':'u','status':400}}`,
				`{'event':'http','exchange':1,'http':{'method':'POST','url':'u','status':200}}`,
				onWeb(received(`'id':null,'error':{'code':-32600,'message':'bad'}`), 2), onWeb(received(`'id':1,'result':{}`), 1),
			},
			[]string{"→ s 1 a ok 5ms (200)", "→ s 2 b error 3ms: -32600: bad (400)"},
		},
		{
			"a batch",
			[]string{
				`{'event':'sent','message':[{'jsonrpc':'2.0','id':1,'method':'a'},{'jsonrpc':'2.0','id':2,'method':'b'}]}`,
				`{'event':'received','message':[{'jsonrpc':'2.0','id':2,'result':{}},{'jsonrpc':'2.0','id':1,'result':{'isError':true,'content':[{'type':'text','text':'oh'}]}}]}`,
			},
			[]string{"→ s 1 a tool error 1ms: oh", "→ s 2 b ok 1ms"},
		},
		{
			"progress counts for its request",
			[]string{
				sent(`'id':1,'method':'a','params':{'_meta':{'progressToken':'p'}}`),
				received(`'method':'notifications/progress','params':{'progressToken':'p','progress':1}`),
				received(`'method':'notifications/progress','params':{'progressToken':'q','progress':1}`),
				received(`'method':'notifications/progress','params':{'progressToken':'p','progress':2}`),
				received(`'id':1,'result':{'resultType':'input_required'}`),
			},
			[]string{"→ s 1 a ok 4ms: asks for input 2×"},
		},
		{
			"messages that were too large to be recorded",
			[]string{
				`{'event':'sent','size':9,'text':'{','cut':{'id':1,'method':'a'}}`, sent(`'id':2,'method':'b'`),
				`{'event':'received','size':9,'text':'{','cut':{'id':2,'error':true}}`,
				`{'event':'received','size':9,'text':'{','cut':{'id':1}}`,
				`{'event':'received','size':9,'text':'{'}`,
			},
			[]string{"→ s 1 a ok 3ms", "→ s 2 b error 1ms: 0: too long to be recorded"},
		},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, _ := read(t, row.lines...)
			var got []string
			for _, c := range b.Calls {
				got = append(got, brief(c))
			}
			if !slices.Equal(got, row.want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(row.want, "\n"))
			}
		})
	}
}

func TestALineIsDescribed(t *testing.T) {
	const version = `'io.modelcontextprotocol/protocolVersion':'2026-07-28'`
	for _, row := range []struct {
		name  string
		lines []string
		want  string
	}{
		{
			"a session",
			[]string{
				`{'event':'opening'}`, `{'event':'opened','carrier':'stdio','ms':2}`,
				sent(`'id':1,'method':'server/discover','params':{'_meta':{` + version + `}}`),
				received(`'id':1,'error':{'code':-32601,'message':'no'}`),
				sent(`'id':2,'method':'initialize'`),
				received(`'id':2,'result':{'protocolVersion':'2025-11-25','serverInfo':{'name':'x','version':'1'}}`),
				`{'event':'closing'}`, `{'event':'exited','exit':{'code':0,'after':'eof'}}`, `{'event':'closed'}`,
			},
			"stdio|2025-11-25|x 1|closed by us|2ms",
		},
		{
			"stateless",
			[]string{
				`{'event':'opened','carrier':'http'}`, sent(`'id':1,'method':'server/discover','params':{'_meta':{` + version + `}}`),
				received(`'id':1,'result':{'_meta':{'io.modelcontextprotocol/serverInfo':{'name':'y'}}}`),
				`{'event':'closed','error':'s: gone'}`,
			},
			"http|2026-07-28|y|lost: gone|0s",
		},
		{"not opened", []string{`{'event':'opened','error':'s: nothing there'}`}, "|||not opened: nothing there|0s"},
		{"still open", []string{`{'event':'opened','carrier':'sse'}`}, "sse||||0s"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, _ := read(t, row.lines...)
			l := b.Lines[0]
			got := strings.Join([]string{l.Carrier, l.Revision, l.About, l.End, l.Opening.String()}, "|")
			if got != row.want {
				t.Errorf("got %s", got)
			}
		})
	}
}

func TestWhatIsBadIsFound(t *testing.T) {
	for _, row := range []struct {
		line string
		bad  bool
	}{
		{sent(`'id':1,'method':'a'`), false},
		{received(`'id':1,'result':{'isError':true}`), true},
		{received(`'id':1,'result':{'isError':false}`), false},
		{received(`'id':1,'error':{'code':1}`), true},
		{`{'event':'noise','text':'x'}`, true},
		{`{'event':'oversize'}`, true},
		{`{'event':'fault','error':'x'}`, true},
		{`{'event':'stderr','text':'error'}`, false},
		{`{'event':'failed','error':'x'}`, true},
		{`{'event':'failed','error':'x','givenUp':true}`, false},
		{`{'event':'http','http':{'method':'POST','url':'u','status':399}}`, false},
		{`{'event':'http','http':{'method':'POST','url':'u','status':400}}`, true},
		{`{'event':'http','http':{'method':'GET','url':'u','status':405}}`, false},
		{`{'event':'http','http':{'method':'GET','url':'u'},'error':'x'}`, true},
		{`{'event':'http'}`, false},
		{`{'event':'stream','ms':1}`, false},
		{`{'event':'stream','ms':1,'error':'broken'}`, true},
		{`{'event':'exited','exit':{'code':0}}`, false},
		{`{'event':'exited','exit':{'code':3}}`, true},
		{`{'event':'exited','exit':{'code':-1,'signal':'SIGTERM','after':'term'}}`, false},
		{`{'event':'exited','exit':{'code':143,'after':'term'}}`, false},
		{`{'event':'exited','exit':{'code':-1,'signal':'SIGKILL','after':'kill'}}`, true},
		{`{'event':'opened'}`, false},
		{`{'event':'opened','error':'x'}`, true},
		{`{'event':'closed','error':'x'}`, true},
		{`{'event':'later'}`, false},
	} {
		if _, items := read(t, row.line); items[0].Bad() != row.bad {
			t.Errorf("%s: got %v", row.line, !row.bad)
		}
	}
}
