package stdio_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"mcpwire/transport"
	"mcpwire/transport/stdio"
)

// settler settles the call with the id that a message begins with, and does nothing else.
type settler struct {
	calls [1 << 10]atomic.Pointer[transport.Call]
}

func (s *settler) Receive(_ *transport.Call, msg []byte) transport.Verdict {
	id := 0
	for _, c := range msg[len(`{"id":`):] {
		if c < '0' || c > '9' {
			break
		}
		id = id*10 + int(c-'0')
	}
	if call := s.calls[id].Load(); call != nil {
		call.Settle()
	}
	return transport.Reuse
}

func (s *settler) Oversize(*transport.Call, []byte, []byte, int64) {}
func (s *settler) Fault(error)                                     {}
func (s *settler) Closed(error)                                    {}

func BenchmarkRoundTrip(b *testing.B) {
	for _, row := range []struct{ callers, size int }{{1, 100}, {64, 100}, {1, 1 << 20}, {4, 1 << 20}} {
		b.Run(fmt.Sprintf("callers=%d/size=%d", row.callers, row.size), func(b *testing.B) {
			r := new(settler)
			o := stdio.Options{Command: os.Args[0], Env: map[string]string{role: "echo"}}
			conn, err := stdio.New(o).Open(context.Background(), r)
			if err != nil {
				b.Fatal(err)
			}
			defer conn.Close(context.Background())
			b.ReportAllocs()
			b.SetBytes(int64(row.size))
			b.ResetTimer()
			callAll(b, conn, r, row.callers, strings.Repeat("x", row.size))
		})
	}
}

// callAll makes b.N calls from so many goroutines.
func callAll(b *testing.B, conn transport.Conn, r *settler, callers int, text string) {
	b.Helper()
	var left atomic.Int64
	left.Store(int64(b.N))
	ended := make(chan error)
	for id := range callers {
		body := fmt.Appendf(nil, `{"id":%d,"text":"%s"}`, id, text)
		go func() {
			var err error
			for err == nil && left.Add(-1) >= 0 {
				call := &transport.Call{Body: body}
				r.calls[id].Store(call)
				err = conn.Exchange(context.Background(), call)
			}
			ended <- err
		}()
	}
	for range callers {
		if err := <-ended; err != nil {
			b.Error(err)
		}
	}
}
