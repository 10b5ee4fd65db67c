package interop_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	metrics "go.opentelemetry.io/proto/slim/otlp/collector/metrics/v1"
	traces "go.opentelemetry.io/proto/slim/otlp/collector/trace/v1"
	spans "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// A collector reads what is sent to it with the official types.
type collector struct {
	mu      sync.Mutex
	traces  []*traces.ExportTraceServiceRequest
	metrics []*metrics.ExportMetricsServiceRequest
	err     error
}

func (c *collector) ServeHTTP(_ http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	body, err := io.ReadAll(r.Body)
	if err == nil && r.URL.Path == "/v1/traces" {
		m := &traces.ExportTraceServiceRequest{}
		err = proto.Unmarshal(body, m)
		c.traces = append(c.traces, m)
	} else if err == nil {
		m := &metrics.ExportMetricsServiceRequest{}
		err = proto.Unmarshal(body, m)
		c.metrics = append(c.metrics, m)
	}
	if err != nil {
		c.err = err
	}
}

func TestACollectorReadsWhatTheProgramSends(t *testing.T) {
	c := &collector{}
	web := httptest.NewServer(c)
	defer web.Close()
	cmd := exec.Command(filepath.Join(goServers(t), "mcpwire"), "call", "demo", "add", "a=1", "b=2")
	cmd.Env = append(cmd.Environ(), "OTEL_EXPORTER_OTLP_ENDPOINT="+web.URL)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || len(c.traces) == 0 || len(c.metrics) == 0 {
		t.Fatalf("%d and %d messages, %v", len(c.traces), len(c.metrics), c.err)
	}
	byName := map[string]*spans.Span{}
	for _, m := range c.traces {
		if len(m.ProtoReflect().GetUnknown()) > 0 {
			t.Error("there are unknown fields")
		}
		for _, r := range m.GetResourceSpans() {
			for _, scope := range r.GetScopeSpans() {
				for _, s := range scope.GetSpans() {
					byName[s.GetName()] = s
				}
			}
		}
	}
	root, call := byName["mcpwire call"], byName["tools/call add"]
	switch {
	case root == nil || call == nil:
		t.Fatalf("got %v", byName)
	case string(call.GetParentSpanId()) != string(root.GetSpanId()), string(call.GetTraceId()) != string(root.GetTraceId()),
		call.GetKind() != spans.Span_SPAN_KIND_CLIENT, call.GetEndTimeUnixNano() < call.GetStartTimeUnixNano():
		t.Errorf("got %v below %v", call, root)
	}
	attributes := map[string]string{}
	for _, kv := range call.GetAttributes() {
		attributes[kv.GetKey()] = kv.GetValue().GetStringValue()
	}
	if attributes["gen_ai.tool.name"] != "add" || attributes["network.transport"] != "pipe" {
		t.Errorf("attributes %v", attributes)
	}
	total := uint64(0)
	for _, r := range c.metrics[0].GetResourceMetrics() {
		for _, scope := range r.GetScopeMetrics() {
			for _, m := range scope.GetMetrics() {
				for _, p := range m.GetHistogram().GetDataPoints() {
					total += p.GetCount()
					if len(p.GetBucketCounts()) != len(p.GetExplicitBounds())+1 || m.GetUnit() != "s" {
						t.Errorf("got %v", m)
					}
				}
			}
		}
	}
	if total < 4 {
		t.Errorf("%d measurements", total)
	}
}
