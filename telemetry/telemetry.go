// Package telemetry makes spans and metrics of what mcpwire does, with the API of OpenTelemetry and as its semantic
// conventions for the Model Context Protocol have it. What New returns goes into mcpwire.Options or ManageOptions;
// docs/telemetry.md lists what is recorded. Arguments, results and prompts never are; errors and addresses are recorded
// as our errors show them, without secrets.
package telemetry

import (
	"net/url"
	"strconv"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"mcpwire/client"
)

// scope is the name of the instrumentation.
const scope = "mcpwire/telemetry"

// Options configure Telemetry. The zero value uses what the otel package has been given for the whole program.
type Options struct {
	TracerProvider trace.TracerProvider // nil: otel.GetTracerProvider()
	MeterProvider  metric.MeterProvider // nil: otel.GetMeterProvider()
	// Propagator writes the context of a request into its _meta, and reads that of the server's requests: traceparent,
	// tracestate and baggage, if it is the usual one (nil: otel.GetTextMapPropagator(), which does nothing until it is
	// set).
	Propagator propagation.TextMapPropagator
	// SessionIDs records mcp.session.id, which the conventions recommend. Where a server asks for no login, whoever knows
	// the id may speak in the session (2025-11-25, security best practices, session hijacking).
	SessionIDs bool
}

// Telemetry records what clients do. It may be used for any number of servers, and from several goroutines at once.
type Telemetry struct {
	options    Options
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	asked      metric.Float64Histogram // of our requests
	served     metric.Float64Histogram // of the server's
	sessions   metric.Float64Histogram
}

// New returns Telemetry that records by way of the providers that o names. It starts nothing, and needs no Close.
func New(o Options) *Telemetry {
	if o.TracerProvider == nil {
		o.TracerProvider = otel.GetTracerProvider()
	}
	if o.MeterProvider == nil {
		o.MeterProvider = otel.GetMeterProvider()
	}
	t := &Telemetry{
		options:    o,
		tracer:     o.TracerProvider.Tracer(scope, trace.WithInstrumentationVersion(client.Version)),
		propagator: o.Propagator,
	}
	meter := o.MeterProvider.Meter(scope, metric.WithInstrumentationVersion(client.Version))
	t.asked = histogram(meter, "mcp.client.operation.duration", "The duration of the MCP request or notification as "+
		"observed on the sender from the time it was sent until the response or ack is received.")
	t.served = histogram(meter, "mcp.server.operation.duration", "MCP request or notification duration as observed on "+
		"the receiver from the time it was received until the result or ack is sent.")
	t.sessions = histogram(meter, "mcp.client.session.duration",
		"The duration of the MCP session as observed on the MCP client.")
	return t
}

func histogram(meter metric.Meter, name, description string) metric.Float64Histogram {
	h, err := meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(description),
		metric.WithExplicitBucketBoundaries(0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300))
	if err != nil {
		otel.Handle(err) // what the meter returns with it does nothing
	}
	return h
}

// propagate returns the propagator, which a program may set after New.
func (t *Telemetry) propagate() propagation.TextMapPropagator {
	if t.propagator != nil {
		return t.propagator
	}
	return otel.GetTextMapPropagator()
}

// Server returns what follows the connections to one server. name is what the host calls it; address is its URL, empty
// for one that is a program. Of the address the host and the port are recorded. A nil Telemetry returns nil.
func (t *Telemetry) Server(name, address string) client.Tracer {
	if t == nil {
		return nil
	}
	s := &server{Telemetry: t}
	if name != "" {
		s.fixed = append(s.fixed, attribute.String(keyServer, valid(name)))
	}
	u, err := url.Parse(address)
	if err != nil || u.Hostname() == "" {
		return s
	}
	s.fixed = append(s.fixed, attribute.String(keyAddress, valid(u.Hostname())))
	port, err := strconv.Atoi(u.Port())
	if err != nil {
		port = map[string]int{"http": 80, "https": 443}[u.Scheme]
	}
	if port != 0 {
		s.fixed = append(s.fixed, attribute.Int(keyPort, port))
	}
	return s
}
