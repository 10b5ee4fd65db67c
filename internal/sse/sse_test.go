package sse_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"mcpwire/internal/sse"
)

// A seen is what a stream has told so far, after one call of Next.
type seen struct {
	what string // the event, or the error that stands for a large one
	id   string
}

// outcome is all that a stream told.
type outcome struct {
	events []seen
	id     string
	retry  time.Duration // -1: none
}

func show(kind, data string, unfinished bool) string {
	s := fmt.Sprintf("%s %q", kind, data)
	if unfinished {
		s += " unfinished"
	}
	return s
}

func showLarge(e *sse.LargeEvent) string {
	s := fmt.Sprintf("%s <%d of %d> %q..%q", e.Type, e.Size, e.Limit, e.Head, e.Tail)
	if e.Unfinished {
		s += " unfinished"
	}
	return s
}

// readAll reads a stream to its end. keep tells of which events the data are kept; they must not change afterwards.
func readAll(r *sse.Reader, keep func(i int) bool) (got outcome, err error) {
	type held struct {
		data []byte
		text string
	}
	var kept []held
	defer func() {
		got.id, got.retry = r.LastID(), -1
		if wait, ok := r.Retry(); ok {
			got.retry = wait
		}
		for i, h := range kept {
			if string(h.data) != h.text {
				err = fmt.Errorf("kept data %d have become %q", i, h.data)
			}
		}
	}()
	for {
		ev, err := r.Next()
		var large *sse.LargeEvent
		switch {
		case errors.As(err, &large):
			got.events = append(got.events, seen{showLarge(large), r.LastID()})
			continue
		case err != nil:
			return got, err
		}
		got.events = append(got.events, seen{show(ev.Type, string(ev.Data), ev.Unfinished), r.LastID()})
		if keep(len(got.events)) {
			r.Keep()
			kept = append(kept, held{ev.Data, string(ev.Data)})
		}
	}
}

func all(int) bool { return true }

// whats lists the events of an outcome, without their ids.
func (o outcome) whats() []string {
	var list []string
	for _, ev := range o.events {
		list = append(list, ev.what)
	}
	return list
}

var splits = []struct {
	name string
	wrap func(io.Reader) io.Reader
}{
	{"whole", func(r io.Reader) io.Reader { return r }},
	{"single bytes", iotest.OneByteReader},
	{"halves", iotest.HalfReader},
	{"end with the data", iotest.DataErrReader},
}

func TestEventsAreReadAsTheStandardSays(t *testing.T) {
	message := func(data ...string) (list []string) {
		for _, d := range data {
			list = append(list, show("message", d, false))
		}
		return list
	}
	for _, row := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one event", "data: {1}\n\n", message("{1}")},
		{"no blank after the colon", "data:{1}\n\n", message("{1}")},
		{"one blank goes, no more", "data:  {1} \n\n", message(" {1} ")},
		{"a tab is no blank", "data:\t{1}\n\n", message("\t{1}")},
		{"colons in the value", "data: a: b:c\n\n", message("a: b:c")},
		{"several data lines", "data: a\ndata: b\ndata:c\n\n", message("a\nb\nc")},
		{"data lines with others between", "data: a\nid: 1\n: note\nx: y\nevent: e\ndata: b\n\n", []string{
			show("e", "a\nb", false),
		}},
		{"an empty data line first", "data\ndata: b\n\n", message("\nb")},
		{"an empty data line last", "data: a\ndata\n\n", message("a\n")},
		{"two empty data lines", "data\ndata:\n\n", message("\n")},
		{"empty data is no message", "data\n\ndata:\n\n:\ndata: \n\n", nil},
		{"an event's name", "event: endpoint\ndata: /x\n\n", []string{show("endpoint", "/x", false)}},
		{"the name holds for one event", "event: e\ndata: 1\n\ndata: 2\n\n", []string{
			show("e", "1", false), show("message", "2", false),
		}},
		{"a name without data is forgotten", "event: e\n\ndata: 2\n\n", message("2")},
		{"the last name counts", "event: e\nevent: f\ndata: 1\n\n", []string{show("f", "1", false)}},
		{"an empty name", "event: e\nevent\ndata: 1\n\n", message("1")},
		{"names are exact", "Data: 1\ndata : 2\n data: 3\ndatas: 4\ndat: 5\n\n", nil},
		{"comments", ": hi\n:\n::\n\n:data: 1\ndata: 2\n: x\n\n", message("2")},
		{"unknown fields", "foo: bar\nfoo\ndata: 1\n\n", message("1")},
		{"blank lines", "\n\n\r\n\rdata: 1\n\n\n\r\n\n", message("1")},
		{"a byte order mark", "\ufeffdata: 1\n\n", message("1")},
		{"two byte order marks", "\ufeff\ufeffdata: 1\n\ndata: 2\n\n", message("2")},
		{"a byte order mark later on", "data: 1\n\n\ufeffdata: 2\n\n", message("1")},
		{"a byte order mark in the data", "data: \ufeff1\n\n", message("\ufeff1")},
		{"half a byte order mark", "\xef\xbb", nil},
		{"half a byte order mark as a line", "\xef\xbb\ndata: 1\n\n", message("1")},
		{"wide characters", "data: 读取 — ✅ 😀\n\n", message("读取 — ✅ 😀")},
		{"broken characters", "data: \xe8\xaf\xff\n\n", message("\xe8\xaf\xff")},
		{"other separators are text", "data: a\u2028b\u0085c\vd\fe\x00f\n\n", message("a\u2028b\u0085c\vd\fe\x00f")},
		{"one message among noise", ": hi\n\nevent: ping\ndata: {\"t\":1}\n\nfoo: bar\n\ndata: {\"jsonrpc\":\"2.0\",\n" +
			"data: \"id\":1,\"result\":{}}\n\nretry: soon\n\n", []string{
			show("ping", `{"t":1}`, false), show("message", "{\"jsonrpc\":\"2.0\",\n\"id\":1,\"result\":{}}", false),
		}},
	} {
		for _, split := range splits {
			t.Run(row.name+"/"+split.name, func(t *testing.T) {
				got, err := readAll(sse.NewReader(split.wrap(strings.NewReader(row.in)), sse.Options{}), all)
				if !errors.Is(err, io.EOF) || fmt.Sprint(got.whats()) != fmt.Sprint(row.want) {
					t.Errorf("got %v, %v, want %v", got.whats(), err, row.want)
				}
			})
		}
	}
}

func TestAllLineEndsAreTheSame(t *testing.T) {
	const in = "\ufeff: c\nevent: e\nid: 7\ndata: 读\ndata: ✅\n\nretry: 5\ndata: 2\n\n\n"
	want, _ := readAll(sse.NewReader(strings.NewReader(in), sse.Options{}), all)
	if len(want.events) != 2 || want.id != "7" || want.retry != 5*time.Millisecond {
		t.Fatalf("got %v", want)
	}
	turn := 0
	for _, ends := range [][]string{{"\r\n"}, {"\r"}, {"\r\n", "\r", "\n"}, {"\n", "\r\n"}, {"\n", "\n", "\r", "\r\n"}} {
		var b strings.Builder
		for _, c := range in {
			if c != '\n' {
				b.WriteRune(c)
				continue
			}
			b.WriteString(ends[turn%len(ends)])
			turn++
		}
		for _, split := range splits {
			got, err := readAll(sse.NewReader(split.wrap(strings.NewReader(b.String())), sse.Options{}), all)
			if !errors.Is(err, io.EOF) || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%q, %s: got %v, %v, want %v", ends, split.name, got, err, want)
			}
		}
	}
}

// chunks is a reader of given reads. It fails the test if it is read once more than there are.
type chunks struct {
	t    *testing.T
	list []string
}

func (c *chunks) Read(p []byte) (int, error) {
	if len(c.list) == 0 {
		c.t.Error("the reader was read although an event was complete")
		return 0, io.EOF
	}
	n := copy(p, c.list[0])
	c.list = c.list[1:]
	return n, nil
}

func TestAnEventIsThereAsSoonAsItsBlankLineIs(t *testing.T) {
	for _, row := range [][]string{
		{"data: 1\n\n"},
		{"data: 1\r\n\r\n"},
		{"data: 1\r\r"},
		{"data: 1\r\n\r"},
		{"data: 1\r", "\r"},
		{"data: 1\r", "\n", "\r"},
		{"d", "ata: 1\n", "\n"},
		{"\xef", "\xbb\xbfdata: 1", "\n\r"},
	} {
		r := sse.NewReader(&chunks{t, row}, sse.Options{})
		if ev, err := r.Next(); err != nil || string(ev.Data) != "1" {
			t.Errorf("%q: got %q, %v", row, ev.Data, err)
		}
	}
}

func TestTheLFOfACRLFThatComesLaterIsNoBlankLine(t *testing.T) {
	r := sse.NewReader(&chunks{t, []string{"data: 1\r", "\ndata: 2\r", "\n\r", "\ndata: 3\r\n\r\n"}}, sse.Options{})
	for _, want := range []string{"1\n2", "3"} {
		if ev, err := r.Next(); err != nil || string(ev.Data) != want {
			t.Errorf("got %q, %v, want %q", ev.Data, err, want)
		}
	}
}

func TestIDsCountWhenTheirEventEnds(t *testing.T) {
	for _, row := range []struct {
		name, in string
		ids      []string // at each event
		last     string
	}{
		{"none", "data: 1\n\n", []string{""}, ""},
		{"each event its own", "id: a\ndata: 1\n\ndata: 2\nid:b\n\n", []string{"a", "b"}, "b"},
		{"it stays", "id: a\ndata: 1\n\ndata: 2\n\n", []string{"a", "a"}, "a"},
		{"empty data", "id: a\ndata:\n\n", nil, "a"},
		{"no data", "id: a\n\n", nil, "a"},
		{"with another event's name", "event: ping\nid: a\n\n", nil, "a"},
		{"an empty id clears it", "id: a\ndata: 1\n\nid\ndata: 2\n\n", []string{"a", ""}, ""},
		{"one with NUL is ignored", "id: a\n\nid: b\x00c\ndata: 2\n\n", []string{"a"}, "a"},
		{"the last of an event counts", "id: a\nid: b\nid: \x00\ndata: 2\n\n", []string{"b"}, "b"},
		{"an event cut off", "id: a\n\nid: b\ndata: 1\n", []string{"a"}, "a"},
		{"an id cut off", "id: a\n\nid: b", nil, "a"},
		{"too long for a header", "id: a\n\nid: " + strings.Repeat("b", 10000) + "\n\n", nil, "a"},
	} {
		t.Run(row.name, func(t *testing.T) {
			for _, split := range splits {
				got, err := readAll(sse.NewReader(split.wrap(strings.NewReader(row.in)), sse.Options{}), all)
				var ids []string
				for _, ev := range got.events {
					ids = append(ids, ev.id)
				}
				if !errors.Is(err, io.EOF) || fmt.Sprintf("%q %q", ids, got.id) != fmt.Sprintf("%q %q", row.ids, row.last) {
					t.Errorf("%s: got %q, last %q, %v", split.name, ids, got.id, err)
				}
			}
		})
	}
}

func TestRetryIsMillisecondsInDigits(t *testing.T) {
	const ms, none = time.Millisecond, time.Duration(-1)
	for _, row := range []struct {
		in   string
		want time.Duration
	}{
		{"data: 1\n\n", none},
		{"retry: 500\n\n", 500 * ms},
		{"retry:0\n\n", 0},
		{"retry: 007\n\n", 7 * ms},
		{"retry: 1\nretry: 2\n\n", 2 * ms},
		{"retry: 500\n", 500 * ms}, // the line counts, the event's end does not
		{"retry: 50", none},        // it may go on
		{"retry: soon\n\n", none},
		{"retry: 1\n\nretry: 2s\n\n", 1 * ms},
		{"retry:\n\nretry\n\n", none},
		{"retry: -1\n\nretry: +1\n\nretry: 1.5\n\nretry: 1 \n\nretry:  1\n\nretry: １\n\n", none},
		{"retry: 9223372036853\n\n", 9223372036853 * ms},
		{"retry: 922337203685477580700000000000000\n\n", 9223372036854 * ms},
	} {
		got, err := readAll(sse.NewReader(strings.NewReader(row.in), sse.Options{}), all)
		if !errors.Is(err, io.EOF) || got.retry != row.want {
			t.Errorf("%q: got %v, %v, want %v", row.in, got.retry, err, row.want)
		}
	}
}

func TestIDAndRetryAreToldAfterTheStreamBroke(t *testing.T) {
	broken := errors.New("broken")
	in := io.MultiReader(strings.NewReader("id: a1\nretry: 200\ndata:\n\n"), iotest.ErrReader(broken))
	r := sse.NewReader(in, sse.Options{})
	for range 2 {
		if ev, err := r.Next(); !errors.Is(err, broken) {
			t.Errorf("got %v, %v", ev, err)
		}
	}
	if wait, ok := r.Retry(); r.LastID() != "a1" || wait != 200*time.Millisecond || !ok {
		t.Errorf("got id %q, retry %v %t", r.LastID(), wait, ok)
	}
}

func TestAnEventThatTheEndCutsOffIsToldApart(t *testing.T) {
	broken := errors.New("broken")
	for _, row := range []struct{ in, want string }{
		{"data: {1}\n", show("message", "{1}", true)},
		{"data: {1}\r", show("message", "{1}", true)},
		{"data: {1}", show("message", "{1}", true)},
		{"data: {1", show("message", "{1", true)},
		{"event: e\ndata: {\ndata: 1}", show("e", "{\n1}", true)},
		{"data: {1}\nevent: e", show("e", "{1}", true)},
		{"data: {1}\nda", show("message", "{1}", true)},
		{"data:", ""},
		{"data", ""},
		{"event: e\nid: 1\n", ""},
		{": data", ""},
	} {
		for _, end := range []error{io.EOF, broken} {
			for _, split := range splits {
				in := split.wrap(io.MultiReader(strings.NewReader("data: 0\n\n"+row.in), iotest.ErrReader(end)))
				got, err := readAll(sse.NewReader(in, sse.Options{}), all)
				want := strings.TrimRight(show("message", "0", false)+" "+row.want, " ")
				if text := strings.Join(got.whats(), " "); !errors.Is(err, end) || text != want {
					t.Errorf("%q, %s: got %s, %v, want %s", row.in, split.name, text, err, want)
				}
			}
		}
	}
}

func TestAReaderThatNeverReadsIsAnError(t *testing.T) {
	if _, err := sse.NewReader(nothing{}, sse.Options{}).Next(); !errors.Is(err, io.ErrNoProgress) {
		t.Errorf("got %v", err)
	}
}

type nothing struct{}

func (nothing) Read([]byte) (int, error) { return 0, nil }
