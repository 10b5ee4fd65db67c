package replay_test

import (
	"bufio"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"mcpwire/replay"
	"mcpwire/trace"
)

// recorded makes a recording of lines that begin with > (the host says), < (the server says) or a word and JSON (an
// event of that kind). Each is a second later than the one before.
func recorded(t *testing.T, text string) *replay.Recording {
	t.Helper()
	r, err := replay.Load(strings.NewReader(file(text)), replay.Choice{})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func file(text string) string {
	var b []byte
	at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for line := range strings.Lines(text) {
		word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		e := &trace.Event{Time: at, Server: "s", Line: 1}
		at = at.Add(time.Second)
		if n := strings.TrimLeft(word, "<>"); n != "" && n != word { // of an exchange
			e.Exchange, _ = strconv.Atoi(n)
			word = word[:1]
		}
		switch word {
		case "":
			continue
		case ">":
			e.Kind, e.Message = trace.Sent, []byte(`{"jsonrpc":"2.0",`+rest+`}`)
		case "<":
			e.Kind, e.Message = trace.Received, []byte(`{"jsonrpc":"2.0",`+rest+`}`)
		case "failed":
			e.Kind, e.Error = trace.Failed, "lost"
			e.Exchange, _ = strconv.Atoi(rest)
		default:
			e.Kind, e.Text = trace.Kind(word), rest
		}
		b = trace.Append(b, e)
	}
	return string(b)
}

// said runs what a host says, a message a line, past a server, and returns what that says.
func said(t *testing.T, s *replay.Server, host string) string {
	t.Helper()
	var in, out strings.Builder
	for line := range strings.Lines(host) {
		if line = strings.TrimSpace(line); line != "" {
			in.WriteString(`{"jsonrpc":"2.0",` + line + "}\n")
		}
	}
	// What takes time is done before the end of the input is seen.
	end, closeInput := io.Pipe()
	go func() {
		time.Sleep(time.Minute)
		_ = closeInput.Close()
	}()
	if err := s.ServeStdio(t.Context(), io.MultiReader(strings.NewReader(in.String()), end), &out); err != nil {
		t.Error(err)
	}
	return strings.ReplaceAll(out.String(), `"jsonrpc":"2.0",`, "")
}

const handshake = `
> "id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","clientInfo":{"name":"a","version":"1"}}
< "id":1,"result":{"protocolVersion":"2025-11-25"}
> "method":"notifications/initialized"
`

var rows = []struct {
	name       string
	recording  string
	strict     bool
	host, want string
	errs       string // what Err says; empty: nothing
}{
	{
		name: "the id is the request's, and the order of members and the spelling of numbers don't count",
		recording: `> "id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1.0,"b":[1e2]},"_meta":{"x":1}}
			< "id":1,"result":{"sum": 101}`,
		host: `"id":"seven","method":"tools/call","params":{"arguments":{"b":[100],"a":1},"name":"\u0061dd"}`,
		want: `{"id":"seven","result":{"sum": 101}}`,
	},
	{
		name:      "a handshake is answered whoever asks",
		recording: handshake,
		host:      `"id":5,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{"roots":{}}}`,
		want:      `{"id":5,"result":{"protocolVersion":"2025-11-25"}}`,
	},
	{
		name: "absent params, empty ones and ones with nothing but _meta are the same",
		recording: `> "id":1,"method":"tools/list","params":{"_meta":{"progressToken":1}}
			< "id":1,"result":{"tools":[]}`,
		host: `"id":1,"method":"tools/list"
			"id":2,"method":"tools/list","params":{}`,
		want: `{"id":1,"result":{"tools":[]}}
			{"id":2,"result":{"tools":[]}}`,
	},
	{
		name: "the same request several times gets its answers in order, then the last",
		recording: `> "id":1,"method":"a"
			< "id":1,"result":1
			> "id":2,"method":"a"
			< "id":2,"error":{"code":-1,"message":"no","data":[ 2 ]}`,
		host: `"id":1,"method":"a"
			"id":2,"method":"a"
			"id":3,"method":"a"`,
		want: `{"id":1,"result":1}
			{"id":2,"error":{"code":-1,"message":"no","data":[ 2 ]}}
			{"id":3,"error":{"code":-1,"message":"no","data":[ 2 ]}}`,
	},
	{
		name:   "strictly there are no more than were recorded",
		strict: true,
		recording: `> "id":1,"method":"a"
			< "id":1,"result":1`,
		host: `"id":1,"method":"a"
			"id":2,"method":"a"`,
		want: `{"id":1,"result":1}
			{"id":2,"error":{"code":-32602,"message":"f has a with these params only 1 times"}}`,
		errs: "f: requests without a recorded answer: 1",
	},
	{
		name: "progress comes with the request's own token, and not where none is wanted",
		recording: `> "id":1,"method":"a","params":{"_meta":{"progressToken":7}}
			< "method":"notifications/progress","params":{"progressToken":7,"progress":1}
			< "method":"notifications/message","params":{"level":"info"}
			< "id":1,"result":{}
			< "method":"notifications/tools/list_changed"`,
		host: `"id":1,"method":"a","params":{"_meta":{"progressToken":"t"}}
			"id":2,"method":"a"`,
		want: `{"method":"notifications/progress","params":{"progressToken":"t","progress":1}}
			{"method":"notifications/message","params":{"level":"info"}}
			{"id":1,"result":{}}
			{"method":"notifications/tools/list_changed"}
			{"method":"notifications/message","params":{"level":"info"}}
			{"id":2,"result":{}}
			{"method":"notifications/tools/list_changed"}`,
	},
	{
		name: "progress belongs to its request, whatever is open beside it",
		recording: `> "id":1,"method":"a","params":{"_meta":{"progressToken":1}}
			> "id":2,"method":"b"
			< "method":"notifications/progress","params":{"progressToken":1,"progress":1}
			< "id":2,"result":2
			< "id":1,"result":1`,
		host: `"id":5,"method":"b"
			"id":6,"method":"a","params":{"_meta":{"progressToken":9}}`,
		want: `{"id":5,"result":2}
			{"method":"notifications/progress","params":{"progressToken":9,"progress":1}}
			{"id":6,"result":1}`,
	},
	{
		name: "what came on a request's own stream belongs to it",
		recording: `>1 "id":1,"method":"a"
			>2 "id":2,"method":"b"
			<1 "method":"notifications/message","params":{"level":"info"}
			<2 "id":2,"result":2
			<1 "id":1,"result":1`,
		host: `"id":5,"method":"b"
			"id":6,"method":"a"`,
		want: `{"id":5,"result":2}
			{"method":"notifications/message","params":{"level":"info"}}
			{"id":6,"result":1}`,
	},
	{
		name:      "what followed a notification of the host follows it again",
		recording: handshake + `< "method":"notifications/message","params":{"level":"info"}`,
		host: `"id":1,"method":"initialize"
			"method":"notifications/other"
			"method":"notifications/initialized"`,
		want: `{"id":1,"result":{"protocolVersion":"2025-11-25"}}
			{"method":"notifications/message","params":{"level":"info"}}`,
	},
	{
		name: "questions of the server are put again, with ids of their own, and their answers waited for",
		recording: `> "id":1,"method":"a"
			< "id":100,"method":"roots/list"
			> "id":100,"result":{"roots":[]}
			< "id":1,"result":1`,
		host: `"id":1,"method":"a"
			"method":"notifications/progress"`,
		want: `{"id":1,"method":"roots/list"}
			{"id":1,"result":1}`, // after 30 s without an answer
	},
	{
		name: "a question that nobody answered is not waited for",
		recording: `> "id":1,"method":"a"
			< "id":"x","method":"ping"
			< "method":"notifications/cancelled","params":{"requestId":"x","reason":"slow"}
			< "id":1,"result":1`,
		host: `"id":1,"method":"a"`,
		want: `{"id":1,"method":"ping"}
			{"method":"notifications/cancelled","params":{"requestId":1,"reason":"slow"}}
			{"id":1,"result":1}`,
	},
	{
		name: "what was cancelled, has failed or was cut off has no answer",
		recording: `> "id":1,"method":"a"
			> "method":"notifications/cancelled","params":{"requestId":1}
			< "id":1,"result":"late"
			>4 "id":2,"method":"b"
			failed 4
			> "id":3,"method":"d"
			< "id":3,"result":3
			> "id":4,"method":"c"`,
		host: `"id":1,"method":"a"
			"id":2,"method":"b"
			"id":3,"method":"c"
			"id":4,"method":"d"`,
		want: `{"id":4,"result":3}`,
	},
	{
		name:   "strictly that is an error",
		strict: true,
		recording: `> "id":3,"method":"d"
			< "id":3,"result":3
			> "id":1,"method":"a"
			> "method":"notifications/cancelled","params":{"requestId":1}
			> "id":2,"method":"b"`,
		host: `"id":1,"method":"d"
			"id":2,"method":"a"
			"id":3,"method":"b"`,
		want: `{"id":1,"result":3}
			{"id":2,"error":{"code":-32602,"message":"request 2 of f, a, has no answer there: was cancelled"}}
			{"id":3,"error":{"code":-32602,"message":"request 3 of f, b, has no answer there: the recording ends before it"}}`,
		errs: "f: requests without a recorded answer: 2",
	},
	{
		name:   "strictly the order counts, but not of what was open at once",
		strict: true,
		recording: `> "id":1,"method":"a"
			> "id":2,"method":"b"
			< "id":1,"result":1
			< "id":2,"result":2
			> "id":3,"method":"c"
			< "id":3,"result":3
			> "id":4,"method":"d"
			< "id":4,"result":4`,
		host: `"id":1,"method":"b"
			"id":2,"method":"a"
			"id":3,"method":"d"`,
		want: `{"id":1,"result":2}
			{"id":2,"result":1}
			{"id":3,"error":{"code":-32602,"message":"request 4 of f, d, comes before request 3, c, which was answered before it"}}`,
		errs: "f: requests without a recorded answer: 1; recorded requests that never came: 3 (c), 4 (d)",
	},
	{
		name: "the nearest request is told where none matches",
		recording: `> "id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":2,"c":[1]}}
			< "id":1,"result":1
			> "id":2,"method":"tools/call","params":{"name":"sub","arguments":{"a":1,"b":3}}
			< "id":2,"result":2`,
		host: `"id":1,"method":"tools/call","params":{"name":"add","arguments":{"a":1,"b":3,"c":[2],"d":null}}
			"id":2,"method":"tools/cull","params":{}`,
		want: `{"id":1,"error":{"code":-32602,"message":"f has no such tools/call; the nearest, request 1, differs in ` +
			`arguments.b: recorded 2, asked 3; arguments.c[0]: recorded 1, asked 2; arguments.d: not recorded, asked null"}}
			{"id":2,"error":{"code":-32601,"message":"f has no tools/cull; it has tools/call"}}`,
		errs: "f: requests without a recorded answer: 2",
	},
	{
		name: "a secret that the recording hides is any text",
		recording: `> "id":1,"method":"a","params":{"password":"***","url":"http://***@h/"}
			< "id":1,"result":1`,
		host: `"id":1,"method":"a","params":{"password":"hunter2!","url":"http://u:p@h/"}
			"id":2,"method":"a","params":{"password":"hunter2!","url":"http://u:p@g/"}`,
		want: `{"id":1,"result":1}
			{"id":2,"error":{"code":-32602,"message":"f has no such a; the nearest, request 1, differs in ` +
			`url: recorded \"http://***@h/\", asked \"http://u:p@g/\""}}`,
		errs: "f: requests without a recorded answer: 1",
	},
	{
		name:      "an older server's refusal of server/discover is no fault, nor is a ping that was not recorded",
		recording: handshake,
		strict:    true,
		host: `"id":0,"method":"server/discover"
			"id":1,"method":"initialize"
			"id":2,"method":"ping"`,
		want: `{"id":0,"error":{"code":-32601,"message":"f has no server/discover; it has initialize"}}
			{"id":1,"result":{"protocolVersion":"2025-11-25"}}
			{"id":2,"result":{}}`,
	},
	{
		name: "a client that initializes once more begins anew",
		recording: handshake + `> "id":1,"method":"a"
			< "id":1,"result":1
			> "id":2,"method":"a"
			< "id":2,"result":2`,
		host: `"id":1,"method":"initialize"
			"id":2,"method":"a"
			"id":3,"method":"a"
			"id":4,"method":"initialize"
			"id":5,"method":"a"`,
		want: `{"id":1,"result":{"protocolVersion":"2025-11-25"}}
			{"id":2,"result":1}
			{"id":3,"result":2}
			{"id":4,"result":{"protocolVersion":"2025-11-25"}}
			{"id":5,"result":1}`,
	},
	{
		name: "what comes on a subscription names the subscription of now",
		recording: `> "id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}
			< "method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}
			> "id":1,"method":"a"
			< "id":1,"result":1
			< "method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}`,
		host: `"id":7,"method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true}}
			"id":8,"method":"a"`,
		want: `{"method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}
			{"id":8,"result":1}
			{"method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":7}}}`,
	},
	{
		name: "what is retried with the input that was asked for matches like any other",
		recording: `> "id":1,"method":"tools/call","params":{"name":"x"}
			< "id":1,"result":{"resultType":"input_required","requestState":"s"}
			> "id":2,"method":"tools/call","params":{"name":"x","requestState":"s","inputResponses":{"q":{"action":"accept"}}}
			< "id":2,"result":{"content":[]}`,
		host: `"id":1,"method":"tools/call","params":{"name":"x"}
			"id":2,"method":"tools/call","params":{"name":"x","inputResponses":{"q":{"action":"accept"}},"requestState":"s"}`,
		want: `{"id":1,"result":{"resultType":"input_required","requestState":"s"}}
			{"id":2,"result":{"content":[]}}`,
	},
	{
		name: "what is no message is told so",
		recording: `> "id":1,"method":"a"
			< "id":1,"result":1`,
		host: `"id":3`,
		want: `{"id":3,"error":{"code":-32700,"message":"this is no message of JSON-RPC 2.0"}}`,
	},
}

func TestRequestsAreAnsweredAsTheyWereRecorded(t *testing.T) {
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := replay.NewServer(recorded(t, row.recording), replay.Options{File: "f", Strict: row.strict})
				defer s.Close()
				got := strings.Split(strings.TrimSpace(said(t, s, row.host)), "\n")
				var want []string
				for line := range strings.Lines(row.want) {
					want = append(want, strings.TrimSpace(line))
				}
				if strings.Join(got, "\n") != strings.Join(want, "\n") {
					t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
				}
				errs := ""
				if err := s.Err(); err != nil {
					errs = err.Error()
				}
				if errs != row.errs {
					t.Errorf("Err says %q, want %q", errs, row.errs)
				}
			})
		})
	}
}

func TestRecordedDelaysAreKeptIfThatIsAsked(t *testing.T) {
	for _, delays := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			s := replay.NewServer(recorded(t, `> "id":1,"method":"a","params":{"_meta":{"progressToken":1}}
				< "method":"notifications/progress","params":{"progressToken":1,"progress":1}
				< "id":1,"result":1`), replay.Options{Delays: delays})
			defer s.Close()
			begin := time.Now()
			in, host := io.Pipe()
			server, out := io.Pipe()
			go func() {
				_ = s.ServeStdio(t.Context(), in, out)
				_ = out.Close()
			}()
			_, _ = io.WriteString(host, `{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":1}}}`+"\n")
			var took []time.Duration
			buffer := make([]byte, 1000)
			for range 2 {
				_, _ = server.Read(buffer)
				took = append(took, time.Since(begin))
			}
			_ = host.Close()
			want := map[bool]time.Duration{true: time.Second}[delays]
			if took[0] != want || took[1] != 2*want {
				t.Errorf("delays %v: it took %v", delays, took)
			}
		})
	}
}

func TestWhatComesOnASubscriptionComesBehindItsAcknowledgement(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := replay.NewServer(recorded(t, `>1 "id":"l","method":"subscriptions/listen","params":{}
			>2 "id":1,"method":"b"
			<2 "id":1,"result":1
			<1 "method":"notifications/subscriptions/acknowledged"
			>3 "id":2,"method":"a"
			<3 "id":2,"result":2
			<1 "method":"notifications/tools/list_changed"`), replay.Options{Delays: true})
		defer s.Close()
		in, host := io.Pipe()
		server, out := io.Pipe()
		go func() {
			_ = s.ServeStdio(t.Context(), in, out)
			_ = out.Close()
		}()
		// a, and what follows it, would be over a second before the acknowledgement.
		_, _ = io.WriteString(host, `{"jsonrpc":"2.0","id":7,"method":"subscriptions/listen","params":{}}`+"\n"+
			`{"jsonrpc":"2.0","id":8,"method":"a"}`+"\n")
		lines := bufio.NewScanner(server)
		var got []string
		for range 3 {
			lines.Scan()
			got = append(got, lines.Text())
		}
		_ = host.Close()
		if !strings.Contains(got[1], "acknowledged") || !strings.Contains(got[2], "list_changed") {
			t.Errorf("got %q", got)
		}
	})
}

func TestAnUnusableRecordingIsToldOnOneLine(t *testing.T) {
	two := `{"server":"a","line":1,"event":"sent","message":{"jsonrpc":"2.0","id":1,"method":"x"}}
{"server":"a","line":1,"event":"received","message":{"jsonrpc":"2.0","id":1,"result":1}}
{"server":"b","line":1,"event":"sent","message":{"jsonrpc":"2.0","id":1,"method":"initialize"}}
{"server":"b","line":2,"event":"received","message":{"jsonrpc":"2.0","id":1,"result":1}}
`
	for _, row := range []struct {
		text   string
		choice replay.Choice
		want   string
	}{
		{"", replay.Choice{}, "it is empty"},
		{"hello\n", replay.Choice{}, "it is no recording: line 1: no event of a trace: "},
		{file("opened x"), replay.Choice{}, "it holds no message"},
		{file(`> "id":1,"method":"a"`), replay.Choice{}, "it holds no message of a server: there is nothing to answer from"},
		{file(`> "id":1,"method":"a"` + "\n" + `< "method":"b"`), replay.Choice{}, "no request of it has an answer"},
		{two, replay.Choice{Server: "c"}, `it has no server "c"; it has "a", "b"`},
		{two, replay.Choice{Server: "a", Line: 2}, `the server "a" has no line 2; it has 1`},
		{two, replay.Choice{}, "no request of it has an answer"}, // b has a handshake, on two lines
		{two, replay.Choice{Server: "a"}, ""},
	} {
		_, err := replay.Load(strings.NewReader(row.text), row.choice)
		if err == nil && row.want == "" {
			continue
		}
		if err == nil || !strings.HasPrefix(err.Error(), row.want) || strings.Contains(err.Error(), "\n") || row.want == "" {
			t.Errorf("%+v: got %v, want %s", row.choice, err, row.want)
		}
	}
}

func TestOfSeveralServersTheChoiceIsTold(t *testing.T) {
	text := file(handshake) + strings.ReplaceAll(file(`> "id":1,"method":"a"
		< "id":1,"result":1`), `"server":"s"`, `"server":"other"`)
	r, err := replay.Load(strings.NewReader(text+"broken\n"), replay.Choice{})
	if err != nil || r.Server() != "s" {
		t.Fatalf("got %v, error %v", r, err)
	}
	notes := strings.Join(r.Notes(), "\n")
	if !strings.HasPrefix(notes, `it has 2 servers, "s", "other"; "s" is taken`+"\nsome of it is left out: line ") {
		t.Errorf("got %q", notes)
	}
}
