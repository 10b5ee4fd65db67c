package sse_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"mcpwire/internal/sse"
)

// Whatever is read with a Reader that is used again, what was kept stays as it was.
func TestAReaderThatIsUsedAgainLeavesKeptMemoryAlone(t *testing.T) {
	r := sse.NewReader(strings.NewReader(""), sse.Options{})
	type kept struct {
		data []byte
		want string
	}
	var all []kept
	for i, size := range []int{1, 3000, 5000, 1 << 20, 40_000, 1 << 20, 200_000, 70_000, 1, 1 << 20, 7} {
		text := strings.Repeat(string(rune('a'+i)), size)
		r.Reset(strings.NewReader("id: x\nretry: 5\ndata: " + text + "\n\ndata: not kept\n\n"))
		if _, said := r.Retry(); r.LastID() != "" || said {
			t.Fatal("something of the last stream is left")
		}
		ev, err := r.Next()
		if err != nil || string(ev.Data) != text {
			t.Fatalf("stream %d: got %d bytes, %v", i, len(ev.Data), err)
		}
		if i%3 > 0 {
			r.Keep()
			all = append(all, kept{ev.Data, text})
		}
		if i%2 > 0 {
			continue // the rest of the stream is left
		}
		if ev, err := r.Next(); err != nil || string(ev.Data) != "not kept" {
			t.Fatalf("stream %d: got %q, %v", i, ev.Data, err)
		}
		if _, err := r.Next(); !errors.Is(err, io.EOF) {
			t.Fatalf("stream %d ended with %v", i, err)
		}
	}
	for i, k := range all {
		if string(k.data) != k.want {
			t.Errorf("what was kept as %dth has changed", i)
		}
	}
}

func TestWhatAReaderHasLearntOfSizesServesTheNextOne(t *testing.T) {
	stream := "data: " + strings.Repeat("x", 1<<20) + "\n\n"
	read := func(big int) (sizes []int, learnt int) {
		src := &sized{src: strings.NewReader(stream)}
		r := sse.NewReader(src, sse.Options{Big: big})
		if _, err := r.Next(); err != nil {
			t.Fatal(err)
		}
		r.Keep()
		r.Reset(nil)
		return src.sizes, r.Big()
	}
	first, learnt := read(0)
	if learnt < len(stream) || learnt > len(stream)*5/4 {
		t.Errorf("an event of %d bytes needs a buffer of %d", len(stream), learnt)
	}
	if again, same := read(learnt); len(again) >= len(first) || same != learnt {
		t.Errorf("with %d known it took %d reads, without %d; %d was learnt", learnt, len(again), len(first), same)
	}
}

// sized notes how much each Read is asked for.
type sized struct {
	src   io.Reader
	sizes []int
}

func (s *sized) Read(p []byte) (int, error) {
	s.sizes = slices.Concat(s.sizes, []int{len(p)})
	return s.src.Read(p)
}
