package telemetry

import (
	"context"
	"encoding/json"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"mcpwire/client"
	"mcpwire/jsonrpc"
	"mcpwire/mcp"
)

// A server follows the connections to one server.
type server struct {
	*Telemetry
	fixed []attribute.KeyValue // of everything that is recorded of this server
}

// Request implements client.Tracer.
func (s *server) Request(
	ctx context.Context, t client.Traced,
) (context.Context, json.RawMessage, func(client.Outcome)) {
	o := s.begin(t, s.asked)
	ctx, o.span = s.tracer.Start(ctx, o.name(), trace.WithSpanKind(trace.SpanKindClient),
		trace.WithTimestamp(o.start), trace.WithAttributes(o.own...), trace.WithAttributes(o.common...))
	o.ctx = ctx
	return ctx, inject(ctx, s.propagate(), t.Meta), o.end
}

// Serve implements client.Tracer. What the server says is the parent is it; the span that is current, as it is where a
// call asks for input in its result, is linked then.
func (s *server) Serve(ctx context.Context, t client.Traced) (context.Context, func(client.Outcome)) {
	o := s.begin(t, s.served)
	o.serving = true
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindServer), trace.WithTimestamp(o.start),
		trace.WithAttributes(o.own...), trace.WithAttributes(o.common...),
	}
	propagator := s.propagate()
	ambient := trace.SpanContextFromContext(ctx)
	ctx = propagator.Extract(ctx, extracted(propagator, t.Meta))
	if ambient.IsValid() && !ambient.Equal(trace.SpanContextFromContext(ctx)) {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: ambient}))
	}
	ctx, o.span = s.tracer.Start(ctx, o.name(), options...)
	o.ctx = ctx
	return ctx, o.end
}

// Session implements client.Tracer.
func (s *server) Session(t client.Traced) func(error) {
	start := time.Now()
	attributes := s.connection(t)
	return func(err error) {
		ctx := context.Background()
		if err != nil {
			kind, _ := classify(ctx, err)
			attributes = append(attributes, attribute.String(keyError, kind))
		}
		s.sessions.Record(ctx, time.Since(start).Seconds(), metric.WithAttributes(attributes...))
	}
}

// connection returns the attributes of a connection. They may be appended to.
func (s *server) connection(t client.Traced) []attribute.KeyValue {
	const more = 8 // what operations add
	all := append(make([]attribute.KeyValue, 0, len(s.fixed)+more), s.fixed...)
	if t.Revision != "" {
		all = append(all, attribute.String(keyRevision, t.Revision))
	}
	switch t.Carrier {
	case "stdio":
		all = append(all, attribute.String(keyTransport, "pipe"))
	case "http", "sse":
		all = append(all, attribute.String(keyTransport, "tcp"), attribute.String(keyProtocol, "http"))
	}
	return all
}

// An operation is a request that is going on, ours or the server's.
type operation struct {
	server  *server
	traced  client.Traced
	took    metric.Float64Histogram
	serving bool // it is the server's
	start   time.Time
	target  string               // what the span's name has behind the method
	common  []attribute.KeyValue // of the span and of the metric
	own     []attribute.KeyValue // of the span alone
	ctx     context.Context      //nolint:containedctx // that of the span, for exemplars
	span    trace.Span
}

func (s *server) begin(t client.Traced, took metric.Float64Histogram) *operation {
	o := &operation{server: s, traced: t, took: took, start: time.Now()}
	o.common = append(s.connection(t), attribute.String(keyMethod, t.Method))
	switch t.Method {
	case mcp.MethodCallTool:
		o.target = valid(t.Name)
		o.common = append(o.common, attribute.String(keyTool, o.target), attribute.String(keyOperation, "execute_tool"))
	case mcp.MethodGetPrompt:
		o.target = valid(t.Name)
		o.common = append(o.common, attribute.String(keyPrompt, o.target))
	case mcp.MethodReadResource, mcp.MethodSubscribe, mcp.MethodUnsubscribe:
		o.own = append(o.own, attribute.String(keyResource, resource(t.Name)))
	}
	return o
}

// name returns the span's name.
func (o *operation) name() string {
	if o.target == "" {
		return valid(o.traced.Method)
	}
	return o.traced.Method + " " + o.target
}

// end records how the operation has ended.
func (o *operation) end(out client.Outcome) {
	took := time.Since(o.start).Seconds()
	if o.traced.Method == mcp.MethodListen && ordinary(out.Err) {
		out.Err = nil
	}
	kind, code := "", ""
	switch {
	case out.Err != nil:
		kind, code = classify(o.ctx, out.Err)
		if o.serving && kind != cancelled && code == "" && !out.ID.IsAbsent() {
			code = strconv.Itoa(jsonrpc.CodeInternalError) // which is what the server gets
			kind = code
		}
	case out.ToolError:
		kind = "tool_error"
	}
	if kind != "" {
		o.common = append(o.common, attribute.String(keyError, kind))
	}
	if code != "" && !out.ID.IsAbsent() {
		o.common = append(o.common, attribute.String(keyStatus, code))
	}
	o.took.Record(o.ctx, took, metric.WithAttributes(o.common...))
	if o.span.IsRecording() {
		if !out.ID.IsAbsent() {
			o.span.SetAttributes(attribute.String(keyID, idText(out.ID)))
		}
		if out.Session != "" && o.server.options.SessionIDs {
			o.span.SetAttributes(attribute.String(keySession, valid(out.Session)))
		}
		if kind != "" {
			o.span.SetStatus(codes.Error, description(out.Err))
			o.span.SetAttributes(attribute.String(keyError, kind))
		}
		if code != "" && !out.ID.IsAbsent() {
			o.span.SetAttributes(attribute.String(keyStatus, code))
		}
	}
	o.span.End()
}
