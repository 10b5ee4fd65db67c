package bench_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
)

// A floor is what a client can't go below: it writes requests that are ready, and reads whole answers without a look
// into them.
type floor interface {
	call(caller int, method, tool string) (size int, err error)
	close() error
}

func request(id int, method, tool string) []byte {
	params := "{}"
	if tool != "" {
		params = fmt.Sprintf(`{"name":%q,"arguments":{"text":"hello"}}`, tool)
	}
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", id, method, params)
}

// start starts the test binary as a server.
func start(tb testing.TB, as string) (cmd *exec.Cmd, in io.WriteCloser, out io.Reader) {
	tb.Helper()
	cmd = exec.Command(executable(tb))
	cmd.Env = append(os.Environ(), role+"="+as, noDelay+"="+noDelayValue)
	var err error
	if in, err = cmd.StdinPipe(); err != nil {
		tb.Fatal(err)
	}
	if out, err = cmd.StdoutPipe(); err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	return cmd, in, out
}

func executable(tb testing.TB) string {
	tb.Helper()
	path, err := os.Executable()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// A pipe is a floor over a process. One caller reads for itself; several are told by one that reads.
type pipe struct {
	cmd     *exec.Cmd
	in      io.WriteCloser
	out     io.Reader
	buf     []byte
	have    int // bytes of buf that have been read
	took    int // bytes of buf that were the line before
	ready   [][]byte
	waiting []chan int // by caller; empty for one
	done    sync.WaitGroup
}

func newPipe(tb testing.TB, w workload) *pipe {
	tb.Helper()
	p := &pipe{buf: make([]byte, 4<<10), ready: make([][]byte, w.callers)}
	p.cmd, p.in, p.out = start(tb, "pipe")
	if w.callers == 1 && w.size == 64 {
		block(p.in)
		block(p.out)
	}
	if _, err := p.call(0, "initialize", ""); err != nil {
		tb.Fatal(err)
	}
	p.ready[0] = nil
	if w.callers > 1 {
		for range w.callers {
			p.waiting = append(p.waiting, make(chan int, 1))
		}
		p.done.Go(p.pass)
	}
	return p
}

// block takes an end of a pipe off Go's poller, which is cheaper for one caller and short answers.
func block(end any) {
	if f, ok := end.(*os.File); ok {
		_ = f.Fd() // asking for it has that effect
	}
}

// pass tells each caller of its answer, until the pipe ends.
func (p *pipe) pass() {
	defer func() {
		for _, c := range p.waiting {
			close(c)
		}
	}()
	for {
		line, err := p.line()
		if err != nil {
			return
		}
		var id int
		for _, digit := range after(line, `"id":`, ",}") {
			id = id*10 + int(digit-'0')
		}
		p.waiting[id] <- len(line)
	}
}

// line returns the next line, which stays valid until the call after.
func (p *pipe) line() ([]byte, error) {
	p.have = copy(p.buf, p.buf[p.took:p.have])
	p.took = 0
	for seen := 0; ; {
		if i := bytes.IndexByte(p.buf[seen:p.have], '\n'); i >= 0 {
			p.took = seen + i + 1
			return p.buf[:p.took], nil
		}
		if seen = p.have; seen == len(p.buf) {
			p.buf = append(p.buf, make([]byte, len(p.buf))...)
		}
		n, err := p.out.Read(p.buf[p.have:])
		if err != nil {
			return nil, err
		}
		p.have += n
	}
}

func (p *pipe) call(caller int, method, tool string) (int, error) {
	if p.ready[caller] == nil {
		p.ready[caller] = request(caller, method, tool)
	}
	if _, err := p.in.Write(p.ready[caller]); err != nil {
		return 0, err
	}
	if p.waiting != nil {
		size, ok := <-p.waiting[caller]
		if !ok {
			return 0, io.ErrUnexpectedEOF
		}
		return size, nil
	}
	for {
		line, err := p.line()
		if err != nil || bytes.Contains(line[:min(len(line), 32)], []byte(`"id":`)) {
			return len(line), err
		}
	}
}

func (p *pipe) close() error {
	err := p.in.Close()
	p.done.Wait()
	return errors.Join(err, p.cmd.Wait())
}

// A web is a floor over HTTP, by Go's own transport.
type web struct {
	url       *url.URL
	header    http.Header
	ready     []byte
	transport *http.Transport
	buffers   sync.Pool
}

func newWeb(tb testing.TB, address string, callers int) *web {
	tb.Helper()
	u, err := url.Parse(address)
	if err != nil {
		tb.Fatal(err)
	}
	w := &web{url: u, transport: &http.Transport{MaxIdleConnsPerHost: callers}, header: http.Header{
		"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
	}}
	w.buffers.New = func() any { return new(bytes.Buffer) }
	return w
}

// prepare makes the body of all requests.
func (w *web) prepare(method, tool string) { w.ready = request(1, method, tool) }

func (w *web) call(int, string, string) (int, error) {
	answer, err := w.transport.RoundTrip(&http.Request{
		Method: http.MethodPost, URL: w.url, Header: w.header,
		Body: io.NopCloser(bytes.NewReader(w.ready)), ContentLength: int64(len(w.ready)),
	})
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	buffer := w.buffers.Get().(*bytes.Buffer) //nolint:errcheck,forcetypeassert // nothing else is in there
	defer w.buffers.Put(buffer)
	buffer.Reset()
	buffer.Grow(max(int(answer.ContentLength), 0) + bytes.MinRead)
	n, err := buffer.ReadFrom(answer.Body)
	return int(n), err
}

func (w *web) close() error {
	w.transport.CloseIdleConnections()
	return nil
}

// serverAddress starts a web server, which ends with the test, and returns its base URL.
func serverAddress(tb testing.TB) string {
	tb.Helper()
	cmd, in, out := start(tb, "web")
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	var line strings.Builder
	for one := make([]byte, 1); !strings.HasSuffix(line.String(), "\n"); line.Write(one) {
		if _, err := out.Read(one); err != nil {
			tb.Fatal(err)
		}
	}
	return "http://" + strings.TrimSpace(line.String())
}
