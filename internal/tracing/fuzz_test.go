package tracing_test

import (
	"io"
	"strings"
	"testing"

	"mcpwire/internal/tracing"
	"mcpwire/trace"
)

// Whatever a file holds can be read, filtered, counted and made a page of.
func FuzzBook(f *testing.F) {
	f.Add(`{"event":"sent","exchange":1,"message":{"jsonrpc":"2.0","id":1,"method":"a","params":{"_meta":{"progressToken":1}}}}
{"event":"http","exchange":1,"http":{"method":"POST","url":"u","status":500}}
{"event":"received","message":[{"jsonrpc":"2.0","id":"1","result":{}},{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1}}]}`)
	f.Add(`{"event":"received","cut":{"id":1,"error":true}}
{"event":"failed","exchange":1,"message":{},"givenUp":true}
{"event":"received","exchange":1,"message":{"jsonrpc":"2.0","id":null,"error":1}}
{"event":"exited"}
{"event":"opening"}`)
	filter := tracing.Filter{Method: "[a-z]*", Since: tracing.Moment{}}
	f.Fuzz(func(t *testing.T, file string) {
		b := &tracing.Book{}
		all, some := tracing.NewCounter(tracing.Filter{}), tracing.NewCounter(filter)
		var items []*tracing.Item
		for e, err := range trace.Read(strings.NewReader(file)) {
			if err != nil {
				continue
			}
			i := b.Add(e)
			i.Bad()
			all.Add(i, b.Start)
			some.Add(i, b.Start)
			items = append(items, i)
		}
		some.Summary(b)
		calls := 0
		for _, line := range all.Summary(b).Lines {
			for _, m := range line.Methods {
				calls += m.Calls
			}
		}
		if calls != len(b.Calls) {
			t.Errorf("%d calls are counted of %d", calls, len(b.Calls))
		}
		if err := tracing.WritePage(io.Discard, "t", b, items); err != nil {
			t.Error(err)
		}
	})
}
