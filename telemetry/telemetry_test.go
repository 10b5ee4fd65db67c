package telemetry_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"mcpwire/client"
	"mcpwire/mcp"
	"mcpwire/rpc"
	"mcpwire/telemetry"
	"mcpwire/transport/streamable"
)

// A recording is a Telemetry with what it has recorded.
type recording struct {
	*telemetry.Telemetry
	spans    *tracetest.SpanRecorder
	reader   *sdkmetric.ManualReader
	provider *sdktrace.TracerProvider
}

func record(o telemetry.Options) *recording {
	r := &recording{spans: tracetest.NewSpanRecorder(), reader: sdkmetric.NewManualReader()}
	r.provider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(r.spans))
	o.TracerProvider = r.provider
	o.MeterProvider = sdkmetric.NewMeterProvider(sdkmetric.WithReader(r.reader))
	if o.Propagator == nil {
		o.Propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	r.Telemetry = telemetry.New(o)
	return r
}

// named returns the one span of that name.
func (r *recording) named(t *testing.T, name string) sdktrace.ReadOnlySpan {
	t.Helper()
	var found []sdktrace.ReadOnlySpan
	var names []string
	for _, s := range r.spans.Ended() {
		names = append(names, s.Name())
		if s.Name() == name {
			found = append(found, s)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d spans are called %q, of %q", len(found), name, names)
	}
	return found[0]
}

// told returns attributes as text.
func told(attributes []attribute.KeyValue) map[string]string {
	all := map[string]string{}
	for _, kv := range attributes {
		all[string(kv.Key)] = kv.Value.String()
	}
	return all
}

// series returns the attributes of all series of a metric, and the bounds of the first.
func (r *recording) series(t *testing.T, name string) (all []map[string]string, bounds []float64) {
	t.Helper()
	var data metricdata.ResourceMetrics
	if err := r.reader.Collect(context.Background(), &data); err != nil {
		t.Fatal(err)
	}
	for _, scope := range data.ScopeMetrics {
		for _, m := range scope.Metrics {
			h, ok := m.Data.(metricdata.Histogram[float64])
			if !ok || m.Name != name || m.Unit != "s" {
				continue
			}
			for _, point := range h.DataPoints {
				all, bounds = append(all, told(point.Attributes.ToSlice())), point.Bounds
			}
		}
	}
	return all, bounds
}

const (
	fine   = `{"content":[],"resultType":"complete"}`
	failed = `{"content":[{"type":"text","text":"secret result"}],"isError":true,"resultType":"complete"}`
)

func TestSpansAndMetricsTellHowACallEnded(t *testing.T) {
	long := &client.CallOptions{Timeout: time.Hour, Limit: -1}
	for _, row := range []struct {
		name, answer string
		options      *client.CallOptions
		end          error // of the caller's context, after a second
		kind, code   string
		description  string
	}{
		{name: "a result", answer: fine},
		{name: "an error of the tool", answer: failed, kind: "tool_error"},
		{
			name: "a refusal", answer: `!{"code":-32602,"message":"no: Bearer abcdefghijklmnop","data":"x"}`,
			kind: "-32602", code: "-32602", description: "no: Bearer ***",
		},
		{
			name: "silence", answer: "-", options: &client.CallOptions{Timeout: time.Second},
			kind: "timeout", description: "request timeout after 1000ms",
		},
		{
			name: "the caller's end", answer: "-", options: long, end: context.Canceled,
			kind: "cancelled", description: "context canceled",
		},
		{
			name: "the caller's end, with words", answer: "-", options: long, end: errors.New("interrupted"),
			kind: "cancelled", description: "interrupted",
		},
		{name: "a lost line", answer: "end", kind: "connection_closed", description: "transport closed"},
	} {
		for _, stateless := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{stateless: stateless, answers: map[string]string{"tools/call": row.answer}}
				r := record(telemetry.Options{SessionIDs: true})
				c := connect(t, f, f.memory("stdio"), client.Options{Tracer: r.Server("files", "")})
				ctx, cancel := context.WithCancelCause(t.Context())
				if row.end != nil {
					time.AfterFunc(time.Second, func() { cancel(row.end) })
				}
				_, err := c.CallTool(ctx, "add", map[string]any{"password": "secret"}, row.options)
				cancel(nil)
				_ = c.Close(context.Background())
				if (err != nil) != (row.kind != "" && row.kind != "tool_error") {
					t.Errorf("%s: the call ends with %v", row.name, err)
				}
				want := map[string]string{
					"mcp.method.name": "tools/call", "gen_ai.tool.name": "add", "gen_ai.operation.name": "execute_tool",
					"mcp.protocol.version": c.Server().Revision, "network.transport": "pipe", "mcpwire.server.name": "files",
				}
				if row.kind != "" {
					want["error.type"] = row.kind
				}
				if row.code != "" {
					want["rpc.response.status_code"] = row.code
				}
				series, bounds := r.series(t, "mcp.client.operation.duration")
				if !slices.ContainsFunc(series, func(s map[string]string) bool { return maps.Equal(s, want) }) {
					t.Errorf("%s: series %v, want %v", row.name, series, want)
				}
				if len(bounds) != 14 || bounds[0] != 0.01 || bounds[13] != 300 {
					t.Errorf("bounds are %v", bounds)
				}
				want["jsonrpc.request.id"] = "2"
				span := r.named(t, "tools/call add")
				if got := told(span.Attributes()); !maps.Equal(got, want) {
					t.Errorf("%s: attributes %v, want %v", row.name, got, want)
				}
				status := span.Status()
				if span.SpanKind() != trace.SpanKindClient || (status.Code == codes.Error) != (row.kind != "") ||
					!strings.Contains(status.Description, row.description) || row.description == "" && status.Description != "" {
					t.Errorf("%s: kind %v, status %+v", row.name, span.SpanKind(), status)
				}
				sessions, _ := r.series(t, "mcp.client.session.duration")
				lost := row.answer == "end"
				if len(sessions) != 1 || (sessions[0]["error.type"] == "connection_closed") != lost {
					t.Errorf("%s: sessions %v", row.name, sessions)
				}
				if all := fmt.Sprint(r.spans.Ended()[0].Attributes(), span.Attributes(), span.Events(), status, series); strings.Contains(all, "secret") {
					t.Errorf("%s: a secret shows in %s", row.name, all)
				}
			})
		}
	}
}

func TestWhatIsRecordedOfOtherRequests(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]string{
			"prompts/get": `{"messages":[]}`, "resources/read": `{"contents":[]}`, "tools/list": `{"tools":[]}`,
		}}
		r := record(telemetry.Options{})
		c := connect(t, f, f.memory("stdio"), client.Options{Tracer: r.Server("", ""), StringIDs: true})
		_, err1 := c.GetPrompt(t.Context(), "greet", nil)
		_, err2 := c.ReadResource(t.Context(), "https://u:pass@h/x?token=abcdef&n=1")
		_, err3 := c.ListTools(t.Context())
		if err := errors.Join(err1, err2, err3, c.Close(context.Background())); err != nil {
			t.Error(err)
		}
		r.named(t, "initialize")
		r.named(t, "tools/list")
		prompt := told(r.named(t, "prompts/get greet").Attributes())
		if prompt["gen_ai.prompt.name"] != "greet" || prompt["gen_ai.operation.name"] != "" {
			t.Errorf("got %v", prompt)
		}
		read := told(r.named(t, "resources/read").Attributes())
		if read["mcp.resource.uri"] != "https://***@h/x?token=***&n=1" || read["jsonrpc.request.id"] != "3" {
			t.Errorf("got %v", read)
		}
		series, _ := r.series(t, "mcp.client.operation.duration")
		if strings.Contains(fmt.Sprint(series), "resource.uri") {
			t.Errorf("metrics tell resources: %v", series)
		}
	})
}

func TestAServerOverHTTPIsToldByItsAddress(t *testing.T) {
	for _, row := range []struct {
		stateless, ids bool
		session        string
	}{{}, {ids: true, session: "session-1"}, {stateless: true, ids: true}} {
		f := &fake{stateless: row.stateless, answers: map[string]string{"tools/call": fine}}
		address := f.http(t)
		r := record(telemetry.Options{SessionIDs: row.ids})
		c := connect(t, f, streamable.New(streamable.Options{URL: address}),
			client.Options{Tracer: r.Server("web", address+"/mcp?key=secret")})
		if _, err := c.CallTool(t.Context(), "add", nil, nil); err != nil {
			t.Error(err)
		}
		if err := c.Close(context.Background()); err != nil {
			t.Error(err)
		}
		want := map[string]string{
			"mcp.method.name": "tools/call", "gen_ai.tool.name": "add", "gen_ai.operation.name": "execute_tool",
			"mcp.protocol.version": c.Server().Revision, "network.transport": "tcp", "network.protocol.name": "http",
			"mcpwire.server.name": "web", "server.address": "127.0.0.1", "jsonrpc.request.id": "2",
			"server.port": address[strings.LastIndex(address, ":")+1:],
		}
		if row.session != "" {
			want["mcp.session.id"] = row.session
		}
		if got := told(r.named(t, "tools/call add").Attributes()); !maps.Equal(got, want) {
			t.Errorf("attributes %v, want %v", got, want)
		}
	}
}

func TestTheContextGoesIntoMeta(t *testing.T) {
	const mine = `00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01`
	for _, row := range []struct{ name, meta, want string }{
		{"by itself", ``, `"traceparent":"$","baggage":"user=ada"`},
		{"with the host's own", `{"own":1}`, `"own":1,"traceparent":"$","baggage":"user=ada"`},
		{"the host's is stronger", `{"traceparent":"` + mine + `"}`, `"traceparent":"` + mine + `","baggage":"user=ada"`},
	} {
		for _, stateless := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f := &fake{stateless: stateless, answers: map[string]string{"tools/call": fine}}
				r := record(telemetry.Options{})
				c := connect(t, f, f.memory("stdio"), client.Options{Tracer: r.Server("files", "")})
				ctx := propagation.Baggage{}.Extract(t.Context(), propagation.MapCarrier{"baggage": "user=ada"})
				ctx, parent := r.provider.Tracer("host").Start(ctx, "chat")
				options := &client.CallOptions{OnProgress: func(mcp.ProgressParams) {}}
				if row.meta != "" {
					options.Meta = json.RawMessage(row.meta)
				}
				if _, err := c.CallTool(ctx, "add", nil, options); err != nil {
					t.Error(err)
				}
				parent.End()
				_ = c.Close(context.Background())
				span := r.named(t, "tools/call add")
				if span.Parent().SpanID() != parent.SpanContext().SpanID() {
					t.Errorf("%s: the parent is %v", row.name, span.Parent().SpanID())
				}
				own := span.SpanContext()
				want := strings.ReplaceAll(row.want, "$", "00-"+own.TraceID().String()+"-"+own.SpanID().String()+"-01")
				sent := f.got("tools/call")
				if !strings.Contains(sent, want+`,"progressToken":2}`) || strings.Count(sent, "traceparent") != 1 {
					t.Errorf("%s: sent %s, want %s", row.name, sent, want)
				}
				for _, first := range []string{f.got("initialize"), f.got("server/discover")} {
					if first != "" && !strings.Contains(first, `"traceparent":"00-`) {
						t.Errorf("sent %s", first)
					}
				}
			})
		}
	}
}

func TestARequestOfTheServerIsASpanOfItsTrace(t *testing.T) {
	const meta = `"_meta":{"traceparent":"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"}`
	for _, row := range []struct {
		name      string
		stateless bool
		failure   error
		kind      string
	}{
		{name: "asked on the line"},
		{name: "asked in a result", stateless: true},
		{name: "refused", failure: &rpc.Refusal{Code: -1, Message: "the user said no"}, kind: "-1"},
		{name: "failed", failure: errors.New("no model"), kind: "-32603"},
	} {
		synctest.Test(t, func(t *testing.T) {
			const params = `{"messages":[],"maxTokens":1,` + meta + `}`
			f := &fake{stateless: row.stateless, answers: map[string]string{"tools/call": fine}}
			if row.stateless {
				f.answers["tools/call"] = `{"resultType":"input_required","inputRequests":{"a":` +
					`{"method":"sampling/createMessage","params":` + params + `}}}`
			} else {
				f.ask = `{"jsonrpc":"2.0","id":"q1","method":"sampling/createMessage","params":` + params + `}`
			}
			r := record(telemetry.Options{})
			var within trace.SpanContext
			input := &client.InputHandler{
				Sample: func(ctx context.Context, _ *mcp.CreateMessageParams) (*mcp.CreateMessageResult, error) {
					within = trace.SpanContextFromContext(ctx)
					f.mu.Lock()
					f.answers["tools/call"] = fine
					f.mu.Unlock()
					return &mcp.CreateMessageResult{}, row.failure
				},
			}
			c := connect(t, f, f.memory("stdio"), client.Options{Tracer: r.Server("files", ""), Input: input})
			ctx, host := r.provider.Tracer("host").Start(t.Context(), "chat")
			if _, err := c.CallTool(ctx, "add", nil, nil); err != nil {
				t.Error(err)
			}
			host.End()
			_ = c.Close(context.Background())
			span := r.named(t, "sampling/createMessage")
			attributes := told(span.Attributes())
			switch {
			case span.SpanKind() != trace.SpanKindServer,
				span.Parent().TraceID().String() != "0af7651916cd43dd8448eb211c80319c",
				!span.Parent().IsRemote(), !within.Equal(span.SpanContext()):
				t.Errorf("%s: kind %v, parent %v", row.name, span.SpanKind(), span.Parent())
			case row.stateless && (len(span.Links()) != 1 || span.Links()[0].SpanContext.SpanID() != host.SpanContext().SpanID()):
				t.Errorf("%s: links %v", row.name, span.Links())
			case !row.stateless && attributes["jsonrpc.request.id"] != "q1":
				t.Errorf("%s: attributes %v", row.name, attributes)
			case attributes["error.type"] != row.kind:
				t.Errorf("%s: attributes %v", row.name, attributes)
			}
			series, _ := r.series(t, "mcp.server.operation.duration")
			if len(series) != 1 || series[0]["mcp.method.name"] != "sampling/createMessage" || series[0]["error.type"] != row.kind {
				t.Errorf("%s: series %v", row.name, series)
			}
			calls := 0
			for _, s := range r.spans.Ended() {
				if s.Name() == "tools/call add" {
					calls++
				}
			}
			if row.stateless && calls != 2 || !row.stateless && calls != 1 {
				t.Errorf("%s: there are %d spans of the call", row.name, calls)
			}
		})
	}
}

func TestNoTelemetryIsNoTracer(t *testing.T) {
	var none *telemetry.Telemetry
	if tracer := none.Server("files", ""); tracer != nil {
		t.Errorf("got %v", tracer)
	}
}

func TestWithoutProvidersNothingIsAdded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fake{answers: map[string]string{"tools/call": fine}}
		c := connect(t, f, f.memory("stdio"), client.Options{Tracer: telemetry.New(telemetry.Options{}).Server("files", "")})
		if _, err := c.CallTool(t.Context(), "add", nil, nil); err != nil {
			t.Error(err)
		}
		_ = c.Close(context.Background())
		if sent := f.got("tools/call"); sent != `{"name":"add"}` {
			t.Errorf("sent %s", sent)
		}
	})
}
