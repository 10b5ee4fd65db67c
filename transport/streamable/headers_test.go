package streamable_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/transport/streamable"
)

func TestAnyValueIsEncodedSoThatAHeaderCanHoldIt(t *testing.T) {
	for _, row := range []struct{ value, want string }{
		// The examples of the specification.
		{"us-west1", "us-west1"},
		{"Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="},
		{" padded ", "=?base64?IHBhZGRlZCA=?="},
		{"line1\nline2", "=?base64?bGluZTEKbGluZTI=?="},
		{"=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="},

		{"", ""},
		{"us west 1", "us west 1"},
		{"~!\"#%&'(),:;<=>?@[\\]^`{|}", "~!\"#%&'(),:;<=>?@[\\]^`{|}"},
		{"file:///a%20b?c=d", "file:///a%20b?c=d"},
		{" ", "=?base64?IA==?="},
		{" us-west1", "=?base64?IHVzLXdlc3Qx?="},
		{"us-west1 ", "=?base64?dXMtd2VzdDEg?="},
		{"\tindented", "=?base64?CWluZGVudGVk?="},
		{"in\tside", "=?base64?aW4Jc2lkZQ==?="},
		{"line1\r\nline2", "=?base64?bGluZTENCmxpbmUy?="},
		{"\x00", "=?base64?AA==?="},
		{"a\x7f", "=?base64?YX8=?="},
		{"a\xff", "=?base64?Yf8=?="},
		{"größe", "=?base64?Z3LDtsOfZQ==?="},
		{"\u00a0a", "=?base64?wqBh?="},
		{"=?base64??=", "=?base64?PT9iYXNlNjQ/Pz0=?="},
		{"=?base64?=", "=?base64?PT9iYXNlNjQ/PQ==?="},
		{"=?base64?YQ==", "=?base64?YQ=="},
		{"YQ==?=", "YQ==?="},
		{"=?BASE64?YQ==?=", "=?BASE64?YQ==?="},
		{"a=?base64?YQ==?=", "a=?base64?YQ==?="},
		{"=?base64?YQ==?=b", "=?base64?YQ==?=b"},
	} {
		if got := streamable.EncodeHeader(row.value); got != row.want {
			t.Errorf("%q: got %q, want %q", row.value, got, row.want)
		}
	}
}

// decodeHeader is what a server does with a value.
func decodeHeader(text string) (string, error) {
	inner, marked := strings.CutPrefix(text, "=?base64?")
	inner, ended := strings.CutSuffix(inner, "?=")
	if !marked || !ended {
		return text, nil
	}
	value, err := base64.StdEncoding.Strict().DecodeString(inner)
	return string(value), err
}

func FuzzEncodeHeader(f *testing.F) {
	for _, value := range []string{"", "a", " a", "a\t", "é", "\r\n", "=?base64?YQ==?=", "=?base64?=", "\xff"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		text := streamable.EncodeHeader(value)
		if got, err := decodeHeader(text); err != nil || got != value {
			t.Errorf("%q became %q, which is read as %q, %v", value, text, got, err)
		}
		if strings.Trim(text, " ") != text || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
			t.Errorf("%q became %q, which no header can hold", value, text)
		}
	})
}

// A toolServer is one of the stateless era, with tools.
type toolServer struct {
	lists []string // the tools as JSON objects; the last list stays
	call  func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message)

	mu     sync.Mutex
	listed int
	calls  []http.Header
}

func (s *toolServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	m, _ := jsonrpc.Parse(text)
	s.mu.Lock()
	defer s.mu.Unlock()
	switch m.Method {
	case "server/discover":
		reply(w, m, discovered)
	case "tools/list":
		list := s.lists[min(s.listed, len(s.lists)-1)]
		s.listed++
		reply(w, m, `{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`+list+`]}`)
	case "tools/call":
		s.calls = append(s.calls, r.Header.Clone())
		if s.call != nil {
			s.call(w, r, m)
			return
		}
		reply(w, m, `{"resultType":"complete","content":[]}`)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// params returns what the arguments' headers of a call say, decoded.
func (s *toolServer) params(t *testing.T, call int) map[string]string {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if call >= len(s.calls) {
		t.Fatalf("%d calls came", len(s.calls))
	}
	params := make(map[string]string)
	for name, values := range s.calls[call] {
		if name, ok := strings.CutPrefix(name, "Mcp-Param-"); ok {
			value, err := decodeHeader(strings.Join(values, "|"))
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			params[name] = value
		}
	}
	return params
}

func (s *toolServer) connect(t *testing.T) *client.Client {
	t.Helper()
	c, err := client.Connect(t.Context(), streamable.New(streamable.Options{URL: serve(t, s)}), client.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c
}

func toolText(name, properties string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":{"type":"object","properties":{%s}}}`, name, properties)
}

// annotated is a property whose value is shown in the header of the same name.
func annotated(name, kind string) string {
	return fmt.Sprintf(`%q:{"type":%q,"x-mcp-header":%q}`, strings.ToLower(name), kind, name)
}

func TestArgumentsAreShownInTheHeadersThatTheirToolAsksFor(t *testing.T) {
	s := &toolServer{lists: []string{toolText("a", strings.Join([]string{
		annotated("Region", "string"), annotated("Priority", "integer"), annotated("Verbose", "boolean"),
		annotated("Debug", "boolean"), annotated("Empty", "string"), annotated("Method", "string"),
		annotated("Padded", "string"), annotated("Lines", "string"), annotated("World", "string"),
		annotated("Absent", "string"), annotated("Nothing", "string"), annotated("snake_Case", "string"),
		`"float":{"type":"number"},"query":{"type":"string"}`,
	}, ","))}}
	c := s.connect(t)
	if _, err := c.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	args := `{"region":"us west 1","priority":42.0,"verbose":false,"debug":true,"empty":"","method":"m","padded":" p ",` +
		`"lines":"a\r\nb","world":"世界","nothing":null,"snake_case":"s","float":3.5,"query":"SELECT"}`
	if _, err := c.CallTool(t.Context(), "a", json.RawMessage(args), nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"Region": "us west 1", "Priority": "42", "Verbose": "false", "Debug": "true", "Empty": "", "Method": "m",
		"Padded": " p ", "Lines": "a\r\nb", "World": "世界", "Snake_case": "s",
	}
	if got := s.params(t, 0); !maps.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if h := s.calls[0]; h.Get("Mcp-Method") != "tools/call" || h.Get("Mcp-Param-Region") != "us west 1" ||
		h.Get("Mcp-Param-World") != "=?base64?5LiW55WM?=" {
		t.Errorf("got %v", h)
	}
}

func TestOneBadToolCostsOnlyItself(t *testing.T) {
	s := &toolServer{lists: []string{toolText("good", annotated("Region", "string")) + "," +
		toolText("bad", annotated("Score", "number")) + "," + toolText("plain", "")}}
	c := s.connect(t)
	tools, err := c.ListTools(t.Context())
	if err != nil || len(tools) != 2 || tools[0].Name != "good" || tools[1].Name != "plain" {
		t.Fatalf("got %v, %v", tools, err)
	}
	if _, err := c.CallTool(t.Context(), "good", json.RawMessage(`{"region":"r"}`), nil); err != nil {
		t.Fatal(err)
	}
	if got := s.params(t, 0); !maps.Equal(got, map[string]string{"Region": "r"}) {
		t.Errorf("got %q", got)
	}
}

func TestACallWhoseHeadersAreRefusedIsSentOnceMoreAfterTheToolsAreListed(t *testing.T) {
	s := &toolServer{lists: []string{
		toolText("a", annotated("Region", "string")), toolText("a", annotated("Zone", "string")),
	}}
	s.call = func(w http.ResponseWriter, r *http.Request, m jsonrpc.Message) {
		if r.Header.Get("Mcp-Param-Zone") != "" {
			reply(w, m, `{"resultType":"complete","content":[]}`)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":"Header mismatch"}}`, m.ID)
	}
	c := s.connect(t)
	if _, err := c.ListTools(t.Context()); err != nil {
		t.Fatal(err)
	}
	args := json.RawMessage(`{"region":"r","zone":"z"}`)
	if _, err := c.CallTool(t.Context(), "a", args, nil); err != nil {
		t.Fatal(err)
	}
	if got := s.params(t, 0); !maps.Equal(got, map[string]string{"Region": "r"}) {
		t.Errorf("at first got %q", got)
	}
	if got := s.params(t, 1); !maps.Equal(got, map[string]string{"Zone": "z"}) {
		t.Errorf("then got %q", got)
	}
	if len(s.calls) != 2 || s.listed != 2 {
		t.Errorf("%d calls and %d lists came", len(s.calls), s.listed)
	}
}
