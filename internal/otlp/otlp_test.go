package otlp_test

import (
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"mcpwire/internal/otlp"
)

// fields reads a message of protocol buffers: what stands in each field, by the path to it. paths are those of parts
// that are messages themselves.
func fields(t *testing.T, text []byte, paths string) map[string][]string {
	t.Helper()
	all := map[string][]string{}
	var walk func(at string, b []byte)
	walk = func(at string, b []byte) {
		for len(b) > 0 {
			tag, n := binary.Uvarint(b)
			b = b[n:]
			path := strings.TrimPrefix(fmt.Sprintf("%s.%d", at, tag>>3), ".")
			var value string
			switch tag & 7 {
			case 0:
				v, n := binary.Uvarint(b)
				value, b = fmt.Sprint(v), b[n:]
			case 1:
				value, b = fmt.Sprint(binary.LittleEndian.Uint64(b)), b[8:]
			case 5:
				value, b = fmt.Sprint(binary.LittleEndian.Uint32(b)), b[4:]
			case 2:
				size, n := binary.Uvarint(b)
				part := b[n : n+int(size)]
				b = b[n+int(size):]
				if slices.Contains(strings.Fields(paths), path) {
					walk(path, part)
					continue
				}
				value = string(part)
			default:
				t.Fatalf("%s is of kind %d", path, tag&7)
			}
			all[path] = append(all[path], value)
		}
	}
	walk("", text)
	return all
}

// A collector keeps what it is sent, by path.
type collector struct {
	*httptest.Server
	got map[string][]byte
	how map[string]http.Header
}

func collect(t *testing.T, status int) *collector {
	t.Helper()
	c := &collector{got: map[string][]byte{}, how: map[string]http.Header{}}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(body)
			if err != nil {
				t.Error(err)
				return
			}
			body = unpacked
		}
		c.got[r.URL.Path], _ = io.ReadAll(body)
		c.how[r.URL.Path] = r.Header
		if status/100 == 3 {
			w.Header().Set("Location", "/elsewhere")
		}
		w.WriteHeader(status)
	}))
	t.Cleanup(c.Close)
	return c
}

func (c *collector) endpoints(t *testing.T, more map[string]string) (spans, metrics *otlp.Endpoint) {
	t.Helper()
	spans, metrics, err := otlp.Endpoints(func(name string) string {
		if name == "OTEL_EXPORTER_OTLP_ENDPOINT" {
			return c.URL + "/base/"
		}
		return more[name]
	})
	if err != nil {
		t.Fatal(err)
	}
	return spans, metrics
}

func TestSpansAreWrittenAsTheProtocolHasThem(t *testing.T) {
	c := collect(t, http.StatusOK)
	to, _ := c.endpoints(t, map[string]string{
		"OTEL_EXPORTER_OTLP_COMPRESSION": "gzip", "OTEL_EXPORTER_OTLP_HEADERS": "x-key=a%20b, y = 1",
	})
	about := resource.NewSchemaless(attribute.String("service.name", "me"))
	provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(otlp.Spans(to)), sdktrace.WithResource(about))
	start := time.Unix(1, 5)
	parent := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1, 2}, SpanID: trace.SpanID{3}, TraceFlags: 1, Remote: true})
	ctx := trace.ContextWithSpanContext(t.Context(), parent)
	_, span := provider.Tracer("scope", trace.WithInstrumentationVersion("7")).Start(ctx, "broken \xff",
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(start), trace.WithLinks(trace.Link{SpanContext: parent}),
		trace.WithAttributes(attribute.Int("n", -1), attribute.Bool("no", false), attribute.Float64("f", 0), attribute.StringSlice("l", []string{"a", ""})))
	span.AddEvent("e", trace.WithTimestamp(start))
	span.SetStatus(codes.Error, "why")
	span.End(trace.WithTimestamp(start.Add(time.Second)))
	if err := provider.Shutdown(context.Background()); err != nil {
		t.Error(err)
	}
	const path = "/base/v1/traces"
	if h := c.how[path]; h.Get("Content-Type") != "application/x-protobuf" || h.Get("X-Key") != "a b" || h.Get("Y") != "1" {
		t.Errorf("headers %v", h)
	}
	got := fields(t, c.got[path], "1 1.1 1.1.1 1.1.1.2 1.2 1.2.1 1.2.2 1.2.2.9 1.2.2.9.2 1.2.2.9.2.5 1.2.2.9.2.5.1 1.2.2.11 1.2.2.13 1.2.2.15")
	id := span.SpanContext().SpanID()
	want := map[string][]string{
		"1.1.1.1": {"service.name"}, "1.1.1.2.1": {"me"}, "1.2.1.1": {"scope"}, "1.2.1.2": {"7"},
		"1.2.2.1": {"\x01\x02" + strings.Repeat("\x00", 14)}, "1.2.2.2": {string(id[:])},
		"1.2.2.4": {"\x03" + strings.Repeat("\x00", 7)}, "1.2.2.5": {"broken \uFFFD"}, "1.2.2.6": {"3"},
		"1.2.2.7": {"1000000005"}, "1.2.2.8": {"2000000005"},
		"1.2.2.9.1": {"n", "no", "f", "l"}, "1.2.2.9.2.3": {fmt.Sprint(uint64(math.MaxUint64))}, "1.2.2.9.2.2": {"0"},
		"1.2.2.9.2.4": {"0"}, "1.2.2.9.2.5.1.1": {"a", ""},
		"1.2.2.11.1": {"1000000005"}, "1.2.2.11.2": {"e"},
		"1.2.2.13.1": {"\x01\x02" + strings.Repeat("\x00", 14)}, "1.2.2.13.2": {"\x03" + strings.Repeat("\x00", 7)},
		"1.2.2.15.2": {"why"}, "1.2.2.15.3": {"2"}, "1.2.2.16": {fmt.Sprint(1 | 1<<8 | 1<<9)},
	}
	if !maps.EqualFunc(got, want, slices.Equal[[]string]) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestHistogramsAreWrittenAsTheProtocolHasThem(t *testing.T) {
	for preference, temporality := range map[string]string{"": "2", "delta": "1"} {
		c := collect(t, http.StatusOK)
		_, to := c.endpoints(t, map[string]string{"OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE": preference})
		reader := sdkmetric.NewPeriodicReader(otlp.Metrics(to))
		provider := sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader), sdkmetric.WithResource(resource.Empty()))
		h, err := provider.Meter("scope").Float64Histogram("took")
		if err != nil {
			t.Fatal(err)
		}
		h.Record(t.Context(), 3)
		h.Record(t.Context(), 4)
		if err := provider.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
		got := fields(t, c.got["/base/v1/metrics"], "1 1.2 1.2.1 1.2.2 1.2.2.9 1.2.2.9.1")
		bits := func(v float64) string { return fmt.Sprint(math.Float64bits(v)) }
		for path, want := range map[string]string{
			"1.2.1.1": "scope", "1.2.2.1": "took", "1.2.2.9.2": temporality, "1.2.2.9.1.4": "2",
			"1.2.2.9.1.5": bits(7), "1.2.2.9.1.11": bits(3), "1.2.2.9.1.12": bits(4),
		} {
			if !slices.Equal(got[path], []string{want}) {
				t.Errorf("%s is %q, want %q", path, got[path], want)
			}
		}
		counts, bounds := got["1.2.2.9.1.6"], got["1.2.2.9.1.7"]
		if len(counts) != 1 || len(bounds) != 1 || len(counts[0]) != len(bounds[0])+8 {
			t.Errorf("counts %q, bounds %q", counts, bounds)
		}
	}
}

func TestARefusalIsAnErrorAndNothingGoesElsewhere(t *testing.T) {
	for _, status := range []int{http.StatusForbidden, http.StatusServiceUnavailable, http.StatusTemporaryRedirect} {
		c := collect(t, status)
		to, _ := c.endpoints(t, nil)
		to.URL = strings.Replace(to.URL, "http://", "http://user:pass@", 1)
		provider := sdktrace.NewTracerProvider()
		_, span := provider.Tracer("scope").Start(t.Context(), "x")
		span.End()
		ended, ok := span.(sdktrace.ReadOnlySpan)
		if !ok {
			t.Fatal("the span can't be read")
		}
		err := otlp.Spans(to).ExportSpans(t.Context(), []sdktrace.ReadOnlySpan{ended})
		want := fmt.Sprintf("***@%s/base/v1/traces: the collector answered HTTP %d", strings.TrimPrefix(c.URL, "http://"), status)
		if err == nil || !strings.HasSuffix(err.Error(), want) || len(c.got) != 1 {
			t.Errorf("got %v, want %s; sent to %v", err, want, slices.Collect(maps.Keys(c.got)))
		}
	}
}

func TestVariablesSayWhereDataGoes(t *testing.T) {
	for _, row := range []struct {
		name, env      string
		spans, metrics string // addresses
		err            string
	}{
		{"nothing", "OTEL_SERVICE_NAME=x", "", "", ""},
		{"one address", "OTEL_EXPORTER_OTLP_ENDPOINT=https://h:1", "https://h:1/v1/traces", "https://h:1/v1/metrics", ""},
		{"an exporter alone", "OTEL_TRACES_EXPORTER=otlp", "http://localhost:4318/v1/traces", "", ""},
		{"one's own address", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT=http://h/x OTEL_EXPORTER_OTLP_ENDPOINT=http://g", "http://g/v1/traces", "http://h/x", ""},
		{"one is off", "OTEL_EXPORTER_OTLP_ENDPOINT=http://h OTEL_METRICS_EXPORTER=none", "http://h/v1/traces", "", ""},
		{"all is off", "OTEL_EXPORTER_OTLP_ENDPOINT=http://h OTEL_SDK_DISABLED=TRUE", "", "", ""},
		{"another protocol", "OTEL_EXPORTER_OTLP_ENDPOINT=http://h OTEL_EXPORTER_OTLP_PROTOCOL=grpc", "", "", `OTEL_EXPORTER_OTLP_PROTOCOL: http/protobuf is spoken, not "grpc"`},
		{"another exporter", "OTEL_TRACES_EXPORTER=console", "", "", `OTEL_TRACES_EXPORTER: otlp and none are known, not "console"`},
		{"no address", "OTEL_EXPORTER_OTLP_ENDPOINT=localhost:4317", "", "", "OTEL_EXPORTER_OTLP_ENDPOINT: an address such as http://localhost:4318 is wanted"},
		{"broken headers", "OTEL_EXPORTER_OTLP_ENDPOINT=http://h OTEL_EXPORTER_OTLP_HEADERS=secret", "", "", "OTEL_EXPORTER_OTLP_HEADERS: name=value pairs are wanted, with commas between them"},
		{"no time", "OTEL_EXPORTER_OTLP_ENDPOINT=http://h OTEL_EXPORTER_OTLP_TRACES_TIMEOUT=1s", "", "", `OTEL_EXPORTER_OTLP_TRACES_TIMEOUT: milliseconds are wanted, not "1s"`},
		{"another packing", "OTEL_EXPORTER_OTLP_ENDPOINT=http://h OTEL_EXPORTER_OTLP_COMPRESSION=zstd", "", "", `OTEL_EXPORTER_OTLP_COMPRESSION: gzip and none are known, not "zstd"`},
		{"no certificate", "OTEL_EXPORTER_OTLP_ENDPOINT=http://h OTEL_EXPORTER_OTLP_CERTIFICATE=/nowhere", "", "", "OTEL_EXPORTER_OTLP_CERTIFICATE: open /nowhere"},
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(row.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		spans, metrics, err := otlp.Endpoints(func(name string) string { return env[name] })
		if text := fmt.Sprint(err); err != nil && (row.err == "" || !strings.HasPrefix(text, row.err)) || err == nil && row.err != "" {
			t.Errorf("%s: error %v, want %s", row.name, err, row.err)
		}
		if addressOf(spans) != row.spans || addressOf(metrics) != row.metrics {
			t.Errorf("%s: %q and %q", row.name, addressOf(spans), addressOf(metrics))
		}
	}
}

func addressOf(e *otlp.Endpoint) string {
	if e == nil {
		return ""
	}
	return e.URL
}
