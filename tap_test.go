package mcpwire_test

import (
	"context"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"

	"mcpwire"
	"mcpwire/config"
	"mcpwire/trace"
)

// A tracer keeps what a trace tells.
type tracer struct {
	mu  sync.Mutex
	all []trace.Event
}

func (r *tracer) sink(e *trace.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, *e)
}

func (r *tracer) of(kind trace.Kind) (found []trace.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(r.all), func(e trace.Event) bool { return e.Kind != kind })
}

func TestATraceJoinsMessagesWithTheirHTTPExchanges(t *testing.T) {
	web := httptest.NewServer(&counter{})
	defer web.Close()
	r := &tracer{}
	entry := config.Server{Name: "web", URL: web.URL, Protocol: "2025-11-25"}
	c, err := mcpwire.Connect(t.Context(), entry, mcpwire.Options{Trace: r.sink, CacheDir: "none", StateDir: "none"})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close(context.Background())
	if _, err := c.CallTool(t.Context(), "write", nil, nil); err != nil {
		t.Fatal(err)
	}
	sent, received, exchanges := r.of(trace.Sent), r.of(trace.Received), r.of(trace.HTTP)
	if len(sent) != 3 || len(received) != 2 || len(exchanges) != 3 { // initialize, initialized, tools/call
		t.Fatalf("%d sent, %d received, %d exchanges", len(sent), len(received), len(exchanges))
	}
	for i, x := range exchanges {
		if x.Exchange == 0 || i > 0 && x.Exchange == exchanges[i-1].Exchange || x.Exchange != sent[i].Exchange || x.HTTP.Request.Get("Content-Type") != "application/json" {
			t.Errorf("message %+v, exchange %+v", sent[i], x)
		}
	}
	if received[1].Exchange != sent[2].Exchange {
		t.Errorf("the call is exchange %d, its answer came on %d", sent[2].Exchange, received[1].Exchange)
	}
}
