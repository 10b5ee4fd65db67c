package bench_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"sync"
)

// role is the environment variable that makes the test binary a server: pipe or web.
const role = "BENCH_SERVER"

const (
	handshake = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"quick","version":"1"}}`
	discovery = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"quick","version":"1"}}}`
	listed   = 1000
	flood    = 100 // notifications before an answer
	progress = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"still at work"}}` + "\n"
)

// playServer serves until its input ends.
func playServer(as string) {
	if as == "web" {
		serveWeb()
		return
	}
	servePipe()
}

// An answerer answers by looking for a few members, as cheaply as can be. It keeps what it has made.
type answerer struct {
	results sync.Map // by method or tool
}

// answer returns the answer in pieces, none where none is due, and whether notifications come before it.
func (a *answerer) answer(request []byte) (pieces net.Buffers, noisy bool) {
	id := after(request, `"id":`, ",}")
	if id == nil {
		return nil, false
	}
	what := string(after(request, `"method":"`, `"`))
	if what == "tools/call" {
		what = "text" + string(after(request, `"name":"text`, `"`))
		noisy = bytes.Contains(request, []byte(`"noisy"`))
	}
	result, ok := a.results.Load(what)
	if !ok {
		result = makeResult(what)
		a.results.Store(what, result)
	}
	return net.Buffers{
		[]byte(`{"jsonrpc":"2.0","id":`), id, []byte(`,"result":`), result.([]byte), []byte("}\n"), //nolint:errcheck,forcetypeassert // nothing else is stored
	}, noisy
}

// after returns what follows the first mark, up to one of the ends.
func after(text []byte, mark, ends string) []byte {
	_, rest, found := bytes.Cut(text, []byte(mark))
	end := bytes.IndexAny(rest, ends)
	if !found || end < 0 {
		return nil
	}
	return rest[:end]
}

func makeResult(what string) []byte {
	switch what {
	case "initialize":
		return []byte(handshake)
	case "server/discover":
		return []byte(discovery)
	case "tools/list":
		return makeList()
	}
	size, _ := strconv.Atoi(strings.TrimPrefix(what, "text")) // of a ping there is none
	return fmt.Appendf(nil, `{"resultType":"complete","content":[{"type":"text","text":%q}]}`, makeText(size))
}

// makeText is prose with a line's end now and then, which JSON has to escape.
func makeText(size int) string {
	return strings.Repeat("What a tool has found out is written here, in lines of ordinary length.\n", size/72+1)[:size]
}

func makeList() []byte {
	var list bytes.Buffer
	list.WriteString(`{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[`)
	for i := range listed {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"name":"tool%d","title":"Tool %d","description":"Looks for what is asked, and tells where it stands.",`+
			`"inputSchema":{"type":"object","properties":{"query":{"type":"string","description":"what to look for"},`+
			`"limit":{"type":"integer","minimum":1,"maximum":100}},"required":["query"]},`+
			`"annotations":{"readOnlyHint":true}}`, i, i)
	}
	list.WriteString(`]}`)
	return list.Bytes()
}

func servePipe() {
	var a answerer
	in := bufio.NewReaderSize(os.Stdin, 64<<10)
	out := bufio.NewWriterSize(os.Stdout, 64<<10)
	for {
		line, err := in.ReadSlice('\n')
		if err != nil {
			return
		}
		pieces, noisy := a.answer(line)
		if noisy {
			for range flood {
				_, _ = out.WriteString(progress) // the flush tells
			}
		}
		for _, piece := range pieces {
			_, _ = out.Write(piece)
		}
		if in.Buffered() == 0 && out.Flush() != nil {
			return
		}
	}
}

// serveWeb serves /json and /sse, and tells its address on the standard output.
func serveWeb() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return
	}
	var a answerer
	go http.Serve(l, http.HandlerFunc(a.serve)) //nolint:errcheck,gosec // it ends with the process
	fmt.Println(l.Addr())
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func (a *answerer) serve(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	pieces, _ := a.answer(body)
	switch {
	case err != nil:
		return
	case r.Method != http.MethodPost:
		out.WriteHeader(http.StatusMethodNotAllowed)
		return
	case pieces == nil:
		out.WriteHeader(http.StatusAccepted)
		return
	case r.URL.Path == "/sse":
		out.Header().Set("Content-Type", "text/event-stream")
		pieces = append(append(net.Buffers{[]byte("event: message\ndata: ")}, pieces...), []byte("\n"))
	default:
		out.Header().Set("Content-Type", "application/json")
	}
	for _, piece := range pieces {
		_, _ = out.Write(piece) // the client may have gone
	}
}
