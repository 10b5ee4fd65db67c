package otlp

import (
	"encoding/binary"
	"math"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/instrumentation"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// encodeSpans returns an ExportTraceServiceRequest.
func encodeSpans(spans []sdktrace.ReadOnlySpan) []byte {
	type origin struct {
		resource attribute.Distinct
		scope    instrumentation.Scope
	}
	var order []origin
	groups, resources := map[origin]message{}, map[origin]*resource.Resource{}
	for _, s := range spans {
		from := origin{s.Resource().Equivalent(), s.InstrumentationScope()}
		g, known := groups[from]
		if !known {
			g = group(from.scope)
			resources[from] = s.Resource()
			order = append(order, from)
		}
		g.message(2, span(s))
		groups[from] = g
	}
	var m message
	for _, from := range order {
		m.origin(resources[from], [][]byte{groups[from]})
	}
	return m
}

func span(s sdktrace.ReadOnlySpan) []byte {
	const remoteKnown, remote = 1 << 8, 1 << 9 // of flags, beside those of the trace
	var m message
	own, parent := s.SpanContext(), s.Parent()
	m.context(1, own)
	if parent.IsValid() {
		id := parent.SpanID()
		m.bytes(4, id[:])
	}
	m.text(5, s.Name())
	m.varint(6, spanKind(s.SpanKind()))
	m.fixed64(7, nanoseconds(s.StartTime()))
	m.fixed64(8, nanoseconds(s.EndTime()))
	m.attributes(9, s.Attributes())
	m.varint(10, uint64(s.DroppedAttributes())) //nolint:gosec // a count
	for _, e := range s.Events() {
		var part message
		part.fixed64(1, nanoseconds(e.Time))
		part.text(2, e.Name)
		part.attributes(3, e.Attributes)
		m.message(11, part)
	}
	for _, l := range s.Links() {
		var part message
		part.context(1, l.SpanContext)
		part.attributes(4, l.Attributes)
		m.message(13, part)
	}
	var status message
	status.text(2, s.Status().Description)
	switch s.Status().Code {
	case codes.Unset:
	case codes.Ok:
		status.varint(3, 1)
	case codes.Error:
		status.varint(3, 2)
	}
	m.bytes(15, status)
	flags := uint32(own.TraceFlags()) | remoteKnown
	if parent.IsRemote() {
		flags |= remote
	}
	m.fixed32(16, flags)
	return m
}

// context writes the ids of a span and its tracestate, in the fields from first on.
func (m *message) context(first int, c trace.SpanContext) {
	traceID, spanID := c.TraceID(), c.SpanID()
	m.bytes(first, traceID[:])
	m.bytes(first+1, spanID[:])
	m.text(first+2, c.TraceState().String())
}

func spanKind(k trace.SpanKind) uint64 {
	switch k {
	case trace.SpanKindInternal, trace.SpanKindUnspecified:
	case trace.SpanKindServer:
		return 2
	case trace.SpanKindClient:
		return 3
	case trace.SpanKindProducer:
		return 4
	case trace.SpanKindConsumer:
		return 5
	}
	return 1
}

func nanoseconds(t time.Time) uint64 {
	if t.IsZero() {
		return 0
	}
	return uint64(t.UnixNano()) //nolint:gosec // it is after 1970
}

// encodeMetrics returns an ExportMetricsServiceRequest with the histograms of seconds that there are. Package telemetry
// makes no other metrics.
func encodeMetrics(data *metricdata.ResourceMetrics) []byte {
	var groups [][]byte
	for _, scope := range data.ScopeMetrics {
		g := group(scope.Scope)
		found := false
		for _, metric := range scope.Metrics {
			h, ok := metric.Data.(metricdata.Histogram[float64])
			if !ok {
				continue
			}
			found = true
			var part message
			part.text(1, metric.Name)
			part.text(2, metric.Description)
			part.text(3, metric.Unit)
			part.message(9, histogram(h))
			g.message(2, part)
		}
		if found {
			groups = append(groups, g)
		}
	}
	if len(groups) == 0 {
		return nil
	}
	var m message
	m.origin(data.Resource, groups)
	return m
}

func histogram(h metricdata.Histogram[float64]) []byte {
	var m message
	for _, p := range h.DataPoints {
		var part, counts, bounds message
		part.fixed64(2, nanoseconds(p.StartTime))
		part.fixed64(3, nanoseconds(p.Time))
		part.fixed64(4, p.Count)
		part.double(5, p.Sum)
		for _, n := range p.BucketCounts {
			counts = binary.LittleEndian.AppendUint64(counts, n)
		}
		part.bytes(6, counts)
		for _, b := range p.Bounds {
			bounds = binary.LittleEndian.AppendUint64(bounds, math.Float64bits(b))
		}
		part.bytes(7, bounds)
		part.attributes(9, p.Attributes.ToSlice())
		if v, ok := p.Min.Value(); ok {
			part.double(11, v)
		}
		if v, ok := p.Max.Value(); ok {
			part.double(12, v)
		}
		m.message(1, part)
	}
	temporality := uint64(2) // cumulative
	if h.Temporality == metricdata.DeltaTemporality {
		temporality = 1
	}
	m.varint(2, temporality)
	return m
}
