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

// noDelay keeps a race detector in a server from delaying the server's end by a second.
const noDelay, noDelayValue = "GORACE", "atexit_sleep_ms=0"

const (
	handshake = `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"quick","version":"1"}}`
	discovery = `{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},` +
		`"_meta":{"io.modelcontextprotocol/serverInfo":{"name":"quick","version":"1"}}}`
	listed   = 1000
	flood    = 100 // notifications before an answer
	progress = `{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"still at work"}}` + "\n"
)

// toolBody is what all tools say but their names.
const toolBody = `"title":"Search issues","description":"Searches the issues of one project with a \"field:value\" ` +
	`query and returns the matches, newest first. Use it before an issue is made, to avoid duplicates.\nResults are ` +
	`paged; pass the cursor that was returned to go on.","inputSchema":{` +
	`"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{` +
	`"project":{"type":"string","description":"Key of the project, such as CORE.","pattern":"^[A-Z]{2,10}$"},` +
	`"query":{"type":"string","description":"What to search for.","minLength":1,"maxLength":400},` +
	`"state":{"type":"string","enum":["open","closed","all"],"default":"open"},` +
	`"labels":{"type":"array","items":{"type":"string"},"maxItems":10,"description":"Only issues with all of these."},` +
	`"limit":{"type":"integer","minimum":1,"maximum":100,"default":20},` +
	`"cursor":{"type":"string","description":"Cursor that an earlier call returned."}},` +
	`"required":["project","query"],"additionalProperties":false},` +
	`"annotations":{"title":"Search issues","readOnlyHint":true,"idempotentHint":true,"openWorldHint":false}`

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
	if bytes.Contains(request, []byte(`/protocolVersion":"`+stateless)) {
		what = stateless + what
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

// makeResult makes the result of a method, or of a tool, which may follow the era that sessions came before.
func makeResult(what string) []byte {
	what, modern := strings.CutPrefix(what, stateless)
	members := ""
	if modern {
		members = `"resultType":"complete",`
	}
	switch what {
	case "initialize":
		return []byte(handshake)
	case "server/discover":
		return []byte(discovery)
	case "tools/list":
		if modern {
			members += `"ttlMs":0,"cacheScope":"private",`
		}
		return makeList(members)
	}
	size, _ := strconv.Atoi(strings.TrimPrefix(what, "text")) // of a ping there is none
	return fmt.Appendf(nil, `{%s"content":[{"type":"text","text":%q}]}`, members, makeText(size))
}

// makeText makes the lines of a log, with the quotes, line ends and characters beyond ASCII that the output of tools has.
func makeText(size int) string {
	const line = `2026-07-28T12:00:00Z INFO worker-07 has done "GET /v1/items?id=42" in 3 ms → ok` + "\n"
	return strings.Repeat(line, size/len(line)) + strings.Repeat("It has been done. ", 5)[:size%len(line)]
}

// makeList makes tools of about 1 KiB each.
func makeList(members string) []byte {
	var list bytes.Buffer
	list.WriteString(`{` + members + `"tools":[`)
	for i := range listed {
		if i > 0 {
			list.WriteByte(',')
		}
		fmt.Fprintf(&list, `{"name":"search_%d",%s}`, i, toolBody)
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
		size := 0
		for _, piece := range pieces {
			size += len(piece)
		}
		out.Header().Set("Content-Length", strconv.Itoa(size))
	}
	for _, piece := range pieces {
		_, _ = out.Write(piece) // the client may have gone
	}
}
