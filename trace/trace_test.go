package trace_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"mcpwire/trace"
	"mcpwire/transport"
)

// A fake is a transport whose server says what a test has it say.
type fake struct {
	early   []string // what comes before Open returns
	secret  string
	answer  string
	openErr error

	receiver transport.Receiver
	exchange int // that of the last Exchange
}

func (f *fake) Open(_ context.Context, r transport.Receiver) (transport.Conn, error) {
	f.receiver = r
	for _, text := range f.early {
		message := []byte(text)
		r.Receive(nil, message)
		clear(message) // it is the carrier's again
	}
	return &fakeConn{fake: f}, f.openErr
}

type fakeConn struct {
	transport.Conn
	fake *fake
}

func (c *fakeConn) Mask(text string) string     { return strings.ReplaceAll(text, c.fake.secret, "***") }
func (c *fakeConn) Traits() transport.Traits    { return transport.Traits{Name: "memory"} }
func (c *fakeConn) Close(context.Context) error { return nil }

func (c *fakeConn) Exchange(ctx context.Context, call *transport.Call) error {
	c.fake.exchange = transport.ExchangeOf(ctx)
	if c.fake.answer == "" {
		return &transport.Error{Op: "x", Delivery: transport.MaybeDelivered, Err: errors.New("lost with " + c.fake.secret)}
	}
	c.fake.receiver.Receive(call, []byte(c.fake.answer))
	return nil
}

type quiet struct{}

func (quiet) Receive(*transport.Call, []byte) transport.Verdict { return transport.Reuse }
func (quiet) Oversize(_ *transport.Call, _, _ []byte, _ int64)  {}
func (quiet) Fault(error)                                       {}
func (quiet) Closed(error)                                      {}

// A log keeps events as a file has them.
type log struct {
	file   bytes.Buffer
	writer *trace.Writer
}

func newLog() *log {
	l := &log{}
	l.writer = trace.NewWriter(&l.file)
	return l
}

func (l *log) events(t *testing.T) (all []*trace.Event) {
	t.Helper()
	if err := l.writer.Close(); err != nil {
		t.Fatal(err)
	}
	for e, err := range trace.Read(&l.file) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	return all
}

func kinds(all []*trace.Event) (kinds []trace.Kind) {
	for _, e := range all {
		kinds = append(kinds, e.Kind)
	}
	return kinds
}

func TestATapTellsWhatALineCarriesWithoutSecrets(t *testing.T) {
	const secret = "hunter2!"
	l := newLog()
	tap := trace.New(trace.Options{Server: "s", Sink: l.writer.Sink})
	f := &fake{
		secret: secret,
		early:  []string{"a banner with " + secret, `{"jsonrpc":"2.0","method":"x","params":{"a":"` + secret + `"}}`},
		answer: "{\n\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"a\":\"hunter2\\u0021\"}}",
	}
	c, err := tap.Around(f).Open(t.Context(), quiet{})
	if err != nil {
		t.Fatal(err)
	}
	call := &transport.Call{Body: []byte(`{"jsonrpc":"2.0","id":1,"method":"m","params":{"password":"p4ss"}}`)}
	if err := c.Exchange(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	if f.exchange != 1 {
		t.Errorf("the carrier was told of exchange %d", f.exchange)
	}
	f.receiver.Receive(call, []byte(`{"jsonrpc":"2.0",`+"\r\n"+`"method":"late"}`))
	f.answer = ""
	lost := &transport.Call{Body: call.Body, Abandon: []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled"}`)}
	if err := c.Exchange(t.Context(), lost); err == nil {
		t.Fatal("no error")
	}
	tap.Stderr([]byte("stderr"))
	tap.HTTP(1, trace.HTTPFacts{Method: "POST", URL: "http://x", Status: 200}, time.Millisecond, nil)
	f.receiver.Oversize(nil, []byte(`{"huge `+secret), nil, 5)
	f.receiver.Fault(errors.New("fault"))
	_ = c.Close(t.Context())
	f.receiver.Closed(nil)
	if err := l.writer.Close(); err != nil {
		t.Fatal(err)
	}
	file := l.file.String()
	for _, word := range []string{secret, `hunter2\u0021`, "p4ss"} {
		if strings.Contains(file, word) {
			t.Errorf("%q is in the file:\n%s", word, file)
		}
	}
	all := l.events(t)
	want := []trace.Kind{
		trace.Opening, trace.Noise, trace.Received, trace.Opened, trace.Sent, trace.Received, trace.Received, trace.Sent,
		trace.Failed,
		trace.Stderr, trace.HTTP, trace.Oversize, trace.Fault, trace.Closing, trace.Closed,
	}
	if got := kinds(all); !slices.Equal(got, want) {
		t.Fatalf("got %v", got)
	}
	if e := all[5]; e.Exchange != all[4].Exchange || string(e.Message) != `{"jsonrpc":"2.0","id":1,"result":{"a":"***"}}` {
		t.Errorf("the answer: %+v, message %s", e, e.Message)
	}
	if e := all[6]; e.Exchange != 0 {
		t.Errorf("what came when its exchange was over: %+v", e)
	}
	if e := all[8]; e.Delivery != "maybe delivered" || string(e.Message) != string(lost.Abandon) || e.Exchange != 2 {
		t.Errorf("the failure: %+v", e)
	}
	if e := all[3]; e.Carrier != "memory" || e.Line != 1 || e.Server != "s" {
		t.Errorf("opened: %+v", e)
	}
}

func TestWhatCameOnALineThatNeverOpenedIsNotShown(t *testing.T) {
	l := newLog()
	f := &fake{early: []string{"noise"}, openErr: errors.New("no such program")}
	if _, err := trace.New(trace.Options{Sink: l.writer.Sink}).Around(f).Open(t.Context(), quiet{}); err == nil {
		t.Fatal("no error")
	}
	all := l.events(t)
	if got := kinds(all); !slices.Equal(got, []trace.Kind{trace.Opening, trace.Noise, trace.Opened}) {
		t.Fatalf("got %v", got)
	}
	if all[1].Text != "" || all[2].Error != "no such program" {
		t.Errorf("got %+v and %+v", all[1], all[2])
	}
}

func TestAMessageIsToldBeforeItIsHandled(t *testing.T) {
	var order []string
	tap := trace.New(trace.Options{Sink: func(e *trace.Event) { order = append(order, string(e.Kind)) }})
	f := &fake{}
	if _, err := tap.Around(f).Open(t.Context(), telling{&order}); err != nil {
		t.Fatal(err)
	}
	f.receiver.Receive(nil, []byte(`{"jsonrpc":"2.0","method":"m"}`))
	f.receiver.Closed(nil)
	want := []string{"opening", "opened", "received", "handled", "closed", "handled"}
	if !slices.Equal(order, want) {
		t.Errorf("got %q", order)
	}
}

// telling is a receiver that tells when it is told.
type telling struct{ order *[]string }

func (r telling) Receive(*transport.Call, []byte) transport.Verdict {
	*r.order = append(*r.order, "handled")
	return transport.Reuse
}
func (r telling) Oversize(*transport.Call, []byte, []byte, int64) {}
func (r telling) Fault(error)                                     {}
func (r telling) Closed(error)                                    { *r.order = append(*r.order, "handled") }

func TestLittleIsHeldBackOfAServerThatSpeaksEarly(t *testing.T) {
	l := newLog()
	large := `{"jsonrpc":"2.0","method":"m","params":{"a":"` + strings.Repeat("x", 600<<10) + `"}}`
	f := &fake{early: []string{large, large, large}}
	if _, err := trace.New(trace.Options{Sink: l.writer.Sink}).Around(f).Open(t.Context(), quiet{}); err != nil {
		t.Fatal(err)
	}
	whole := 0
	for _, e := range l.events(t) {
		if e.Kind == trace.Received && e.Message != nil {
			whole++
		}
	}
	if whole != 1 {
		t.Errorf("%d messages of 600 KiB were held", whole)
	}
}

func TestALargeMessageIsRecordedByItsBeginning(t *testing.T) {
	l := newLog()
	tap := trace.New(trace.Options{Sink: l.writer.Sink, MaxMessage: 100})
	tap.Alone(trace.Sent, []byte(`{"text":"`+strings.Repeat("é", 5000)+`"}`), nil)
	e := l.events(t)[0]
	if e.Message != nil || e.Size < 10_000 || len(e.Text) > 4<<10 || !strings.HasPrefix(e.Text, `{"text":"éé`) {
		t.Errorf("size %d, text %q", e.Size, e.Text)
	}
	if e.Cut != nil {
		t.Errorf("what is no message: %+v", e.Cut)
	}
}

func TestOfALargeMessageItIsKnownWhichItWas(t *testing.T) {
	l := newLog()
	tap := trace.New(trace.Options{Sink: l.writer.Sink, MaxMessage: 100})
	long := strings.Repeat("x", 5000)
	tap.Alone(trace.Sent, []byte(`{"jsonrpc":"2.0","id":7,"method":"m","params":{"a":"`+long+`"}}`), nil)
	tap.Alone(trace.Received, []byte(`{"jsonrpc":"2.0","result":"`+long+`","id":"a"}`), nil)
	tap.Alone(trace.Received, []byte(`{"jsonrpc":"2.0","error":{"code":1,"message":"`+long+`"},"id":"sk-12345678"}`), nil)
	var got []trace.CutFacts
	for _, e := range l.events(t) {
		got = append(got, *e.Cut)
	}
	want := []trace.CutFacts{
		{ID: []byte(`7`), Method: "m"}, {ID: []byte(`"a"`)}, {ID: []byte(`"***"`), Error: true},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v", got)
	}
}

func TestNoiseThatTheReceiverIsNotGivenIsTold(t *testing.T) {
	l := newLog()
	tap := trace.New(trace.Options{Sink: l.writer.Sink})
	f := &fake{secret: "none"}
	if _, err := tap.Around(f).Open(t.Context(), quiet{}); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"a banner", ` {"log":1}`, "[1"} {
		tap.Noise([]byte(text))
	}
	f.receiver.Receive(nil, []byte(`{"log":1}`))
	var got []string
	for _, e := range l.events(t) {
		if e.Kind == trace.Noise {
			got = append(got, e.Text)
		}
	}
	if !slices.Equal(got, []string{"a banner", `{"log":1}`}) {
		t.Errorf("got %q", got)
	}
}

func TestWhoHasAskedAndGivesUpIsTold(t *testing.T) {
	l := newLog()
	c, err := trace.New(trace.Options{Sink: l.writer.Sink}).Around(&fake{}).Open(t.Context(), quiet{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_ = c.Exchange(ctx, &transport.Call{})
	cancel()
	_ = c.Exchange(ctx, &transport.Call{})
	var got []bool
	for _, e := range l.events(t) {
		if e.Kind == trace.Failed {
			got = append(got, e.GivenUp)
		}
	}
	if !slices.Equal(got, []bool{false, true}) {
		t.Errorf("got %v", got)
	}
}

func TestAnEventIsReadAsItWasWritten(t *testing.T) {
	all := []trace.Event{
		{Kind: trace.Opening},
		{
			Server: `a "name"`, Line: 2, Kind: trace.Failed, Carrier: "http", Exchange: 3, Message: []byte(`{"a":1}`),
			Text: "two\nlines", Size: 7, Took: 1.5, Error: "e\u2028", Delivery: "answered",
		},
		{Kind: trace.HTTP, HTTP: &trace.HTTPFacts{
			Method: "POST", URL: "http://x/?a=b&c", Status: 200,
			Request: http.Header{"B": {"1", `"2"`}, "A": {""}}, Response: http.Header{"C": {"3"}},
		}},
		{Kind: trace.HTTP, HTTP: &trace.HTTPFacts{Method: "GET", URL: "http://x"}, Error: "refused"},
		{Kind: trace.Exited, Exit: &trace.ExitFacts{Code: -1, Signal: "SIGKILL", After: "kill"}},
	}
	l := newLog()
	for i := range all {
		all[i].Time = time.Date(2026, 1, 2, 3, 4, 5, 6000, time.UTC)
		l.writer.Sink(&all[i])
	}
	got := l.events(t)
	if len(got) != len(all) {
		t.Fatalf("got %d events", len(got))
	}
	for i, e := range got {
		if !reflect.DeepEqual(*e, all[i]) {
			t.Errorf("got %+v, want %+v", *e, all[i])
		}
	}
}

func TestAnEventIsWrittenSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var file bytes.Buffer
		w := trace.NewWriter(&file)
		w.Sink(&trace.Event{Kind: trace.Closing, Time: time.Now()})
		time.Sleep(50 * time.Millisecond)
		synctest.Wait()
		if got := file.String(); got != `{"time":"2000-01-01T00:00:00.000000Z","event":"closing"}`+"\n" {
			t.Errorf("got %q", got)
		}
		file.Reset()
		large := []byte(`"` + strings.Repeat("x", 300<<10) + `"`)
		for range 2 { // the second finds that much waits
			w.Sink(&trace.Event{Kind: trace.Sent, Message: large})
		}
		time.Sleep(time.Millisecond)
		synctest.Wait()
		if got := file.Len(); got < 600<<10 {
			t.Errorf("%d bytes were written at once", got)
		}
		if err := w.Close(); err != nil {
			t.Error(err)
		}
	})
}

// A stuck writer takes nothing until it is freed.
type stuck struct{ free chan struct{} }

func (s stuck) Write(p []byte) (int, error) {
	<-s.free
	return len(p), nil
}

func TestASlowFileKeepsNobodyWaitingAndWhatIsMissingIsTold(t *testing.T) {
	to := stuck{make(chan struct{})}
	w := trace.NewWriter(to)
	message := []byte(`"` + strings.Repeat("x", 1<<20) + `"`)
	for range 200 {
		w.Sink(&trace.Event{Kind: trace.Sent, Message: message})
	}
	close(to.free)
	var dropped *trace.DroppedError
	if err := w.Close(); !errors.As(err, &dropped) || dropped.Events < 200-2*64-2 {
		t.Errorf("got %v", err)
	}
}

func TestAFailedWriteIsTold(t *testing.T) {
	w := trace.NewWriter(broken{})
	w.Sink(&trace.Event{Kind: trace.Closing})
	if err := w.Close(); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("got %v", err)
	}
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, io.ErrShortWrite }

func TestReadingGoesOnBehindALineThatIsNoEvent(t *testing.T) {
	const file = `{"event":"closing"}` + "\n\nnonsense\n{}\n" + `{"event":"closed","later":1}` + "\n" + `{"event":"clo`
	var got []string
	for e, err := range trace.Read(iotest.OneByteReader(strings.NewReader(file))) {
		if err != nil {
			text, _, _ := strings.Cut(err.Error(), ":")
			got = append(got, text)
			continue
		}
		got = append(got, string(e.Kind))
	}
	if want := []string{"closing", "line 3", "line 4", "closed"}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}
