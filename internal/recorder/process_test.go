package recorder_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"mcpwire/internal/proc"
	"mcpwire/internal/recorder"
	"mcpwire/trace"
)

func echo() proc.Spec {
	return proc.Spec{Command: os.Args[0], Env: map[string]string{echoVariable: "1", "GORACE": "atexit_sleep_ms=0"}}
}

// passed has bytes pass to a server that says them back on both outputs, and returns those and the recording.
func passed(t *testing.T, in io.Reader, o recorder.Options) (out, errs []byte, recording string) {
	t.Helper()
	var file, stdout, stderr bytes.Buffer
	r := recorder.New(&file, o)
	state, err := r.Process(t.Context(), t.Context(), echo(), recorder.Streams{In: in, Out: &stdout, Err: &stderr})
	if err != nil || state.Code != 7 {
		t.Errorf("got %+v, error %v", state, err)
	}
	r.Close()
	return stdout.Bytes(), stderr.Bytes(), file.String()
}

func events(t *testing.T, recording string) (all []*trace.Event) {
	t.Helper()
	for e, err := range trace.Read(strings.NewReader(recording)) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func TestWhatPassesIsUntouchedWhateverItIs(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same bytes each time
	noise := make([]byte, 300_000)
	for i := range noise {
		noise[i] = byte(random.Uint32())
	}
	for name, in := range map[string]string{
		"nothing":           "",
		"messages":          `{"jsonrpc":"2.0","id":1,"method":"a"}` + "\n" + `{"jsonrpc":"2.0","id":1,"result":{}}` + "\r\n",
		"no messages":       "hello\n\n\r\n{\"a\":1}\n[1]\nContent-Length: 3\r\n\r\n{}\n",
		"a partial line":    `{"jsonrpc":"2.0","id":1,"meth`,
		"bytes of all kind": string(noise),
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, _ := passed(t, strings.NewReader(in), recorder.Options{})
			if string(out) != in || string(errs) != in {
				t.Errorf("%d bytes came back, and %d, of %d", len(out), len(errs), len(in))
			}
		})
	}
}

func FuzzWhatIsCutAnywhereIsRecordedTheSame(f *testing.F) {
	f.Add([]byte(`{"jsonrpc":"2.0","method":"a"}`+"\r\nnoise\n"), 3)
	f.Fuzz(func(t *testing.T, text []byte, cut int) {
		whole := recorder.Lines(text, len(text))
		if parts := recorder.Lines(text, 1+max(0, cut)%max(1, len(text))); parts != whole {
			t.Errorf("%q cut at %d: got %s, want %s", text, cut, parts, whole)
		}
	})
}

func TestARecordingHasWhatPassedInItsOrder(t *testing.T) {
	in := `{"jsonrpc":"2.0","method":"a"}` + "\r\nnoise\n" + `[{"jsonrpc":"2.0","method":"b"}]`
	_, _, recording := passed(t, strings.NewReader(in), recorder.Options{Server: "s"})
	var kinds, messages []string
	for _, e := range events(t, recording) {
		if e.Server != "s" || e.Line != 1 {
			t.Errorf("got %+v", e)
		}
		if e.Kind != trace.Stderr {
			kinds = append(kinds, string(e.Kind))
		}
		if e.Kind == trace.Received {
			messages = append(messages, string(e.Message))
		}
	}
	want := "opening opened sent fault sent received noise received exited closed"
	if got := strings.Join(kinds, " "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if len(messages) != 2 || messages[0] != `{"jsonrpc":"2.0","method":"a"}` {
		t.Errorf("got %q", messages)
	}
}

func TestALargeMessageIsRecordedWholeAndALargerOneIsPassedOn(t *testing.T) {
	message := `{"jsonrpc":"2.0","method":"a","params":{"x":"` + strings.Repeat("y", 17<<20) + `"}}`
	out, _, recording := passed(t, strings.NewReader(message+"\n"), recorder.Options{})
	if string(out) != message+"\n" || strings.Count(recording, message) != 2 {
		t.Errorf("%d bytes came back; it is recorded %d times", len(out), strings.Count(recording, message))
	}
	message = message[:3<<20]
	out, _, recording = passed(t, strings.NewReader(message+"\n"), recorder.Options{MaxMessage: 1 << 20})
	sizes := 0
	for _, e := range events(t, recording) {
		if (e.Kind == trace.Oversize || e.Kind == trace.Sent) && e.Size == int64(len(message)) && len(e.Text) > 1000 {
			sizes++
		}
	}
	if string(out) != message+"\n" || sizes != 2 || len(recording) > 100_000 {
		t.Errorf("%d bytes came back; it is told %d times, in %d bytes", len(out), sizes, len(recording))
	}
}

func TestSecretsAreNotRecorded(t *testing.T) {
	const secret = "s3cr3t-value"
	in := `{"jsonrpc":"2.0","method":"a","params":{"x":"` + secret + `","y":"Bearer abcdefgh.ijkl","password":"pw1234"}}` +
		"\n" + secret + "\nAuthorization: Bearer abcdefgh.ijkl\n"
	known := func(text string) string { return strings.ReplaceAll(text, secret, "***") }
	_, _, recording := passed(t, strings.NewReader(in), recorder.Options{Known: known})
	for _, hidden := range []string{secret, "abcdefgh", "pw1234"} {
		if strings.Contains(recording, hidden) {
			t.Errorf("%s is in %s", hidden, recording)
		}
	}
}

// stuck is a file that takes nothing, or fails.
type stuck struct{ wait chan struct{} }

func (s *stuck) Write(b []byte) (int, error) {
	if s.wait != nil {
		<-s.wait
		return len(b), nil
	}
	return 0, errors.New("the disk is full")
}

func TestAFileThatFailsOrIsStuckStopsNothing(t *testing.T) {
	defer recorder.CloseWait(200 * time.Millisecond)()
	in := strings.Repeat(`{"jsonrpc":"2.0","method":"a"}`+"\n", 10_000)
	wait := make(chan struct{})
	for _, row := range []struct {
		file *stuck
		want string
	}{
		{&stuck{}, "it ends early: the disk is full"},
		{&stuck{wait}, "what it is written to takes nothing any more"},
	} {
		var mu sync.Mutex
		var told []string
		r := recorder.New(row.file, recorder.Options{OnTrouble: func(err error) {
			mu.Lock()
			defer mu.Unlock()
			told = append(told, err.Error())
		}})
		var out bytes.Buffer
		_, err := r.Process(t.Context(), t.Context(), echo(),
			recorder.Streams{In: strings.NewReader(in), Out: &out, Err: io.Discard})
		if err != nil || out.String() != in {
			t.Errorf("%d bytes came back, error %v", out.Len(), err)
		}
		begin := time.Now()
		r.Close()
		mu.Lock()
		if len(told) != 1 || told[0] != row.want || time.Since(begin) > 15*time.Second {
			t.Errorf("told %q, want %q; Close took %v", told, row.want, time.Since(begin))
		}
		mu.Unlock()
	}
	close(wait)
}

func TestBytesPassAtOnceThoughNoLineEnds(t *testing.T) {
	in, host := io.Pipe()
	server, out := io.Pipe()
	r := recorder.New(io.Discard, recorder.Options{})
	ended := make(chan error, 1)
	go func() {
		_, err := r.Process(t.Context(), t.Context(), echo(), recorder.Streams{In: in, Out: out, Err: io.Discard})
		ended <- err
	}()
	for _, part := range []string{`{"json`, `rpc":`, "x"} {
		_, _ = io.WriteString(host, part)
		got := make([]byte, len(part))
		if _, err := io.ReadFull(server, got); err != nil || string(got) != part {
			t.Fatalf("got %q, error %v", got, err)
		}
	}
	_ = host.Close()
	if rest, err := io.ReadAll(server); err != nil || len(rest) > 0 {
		t.Errorf("got %q, error %v", rest, err)
	}
	if err := <-ended; err != nil {
		t.Error(err)
	}
	r.Close()
}
