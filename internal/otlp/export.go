// Package otlp sends spans and metrics to a collector: OTLP over HTTP, in protocol buffers. It is here since the
// official exporters bring gRPC along, which would make the program half as large again and its start a third slower,
// whether or not it sends anything.
package otlp

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"mcpwire/internal/redact"
)

// sender posts messages to one address. Nothing is repeated: a program that is about to end has no time for that.
type sender struct {
	to     *Endpoint
	client *http.Client
}

func newSender(to *Endpoint) sender {
	return sender{to, &http.Client{
		Timeout: to.Timeout,
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: to.TLS, ForceAttemptHTTP2: true,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// answered is how much of a collector's answer is read.
const answered = 64 << 10

func (s sender) send(ctx context.Context, body []byte) error {
	if len(body) == 0 {
		return nil
	}
	err := s.post(ctx, body)
	if failure, ok := errors.AsType[*url.Error](err); ok {
		err = failure.Err // without the address, which is shown redacted
	}
	if err != nil {
		return fmt.Errorf("%s: %w", redact.URL(s.to.URL), err)
	}
	return nil
}

func (s sender) post(ctx context.Context, body []byte) error {
	encoding := ""
	if s.to.Gzip {
		var packed bytes.Buffer
		w := gzip.NewWriter(&packed)
		_, err := w.Write(body)
		if err := errors.Join(err, w.Close()); err != nil {
			return err
		}
		body, encoding = packed.Bytes(), "gzip"
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.to.URL, bytes.NewReader(body))
	if err != nil {
		return err
	}
	for name, value := range s.to.Headers {
		r.Header.Set(name, value)
	}
	r.Header.Set("Content-Type", "application/x-protobuf")
	if encoding != "" {
		r.Header.Set("Content-Encoding", encoding)
	}
	response, err := s.client.Do(r)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	_, _ = io.CopyN(io.Discard, response.Body, answered) // so that the connection can be used again
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return fmt.Errorf("the collector answered HTTP %d", response.StatusCode)
	}
	return nil
}

func (s sender) Shutdown(context.Context) error {
	s.client.CloseIdleConnections()
	return nil
}

type spanExporter struct{ sender }

// Spans returns what sends spans to the collector.
func Spans(to *Endpoint) sdktrace.SpanExporter { return spanExporter{newSender(to)} }

func (e spanExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	return e.send(ctx, encodeSpans(spans))
}

type metricExporter struct{ sender }

// Metrics returns what sends histograms to the collector.
func Metrics(to *Endpoint) sdkmetric.Exporter { return metricExporter{newSender(to)} }

func (e metricExporter) Temporality(sdkmetric.InstrumentKind) metricdata.Temporality {
	if e.to.Delta {
		return metricdata.DeltaTemporality
	}
	return metricdata.CumulativeTemporality
}

func (e metricExporter) Aggregation(k sdkmetric.InstrumentKind) sdkmetric.Aggregation {
	return sdkmetric.DefaultAggregationSelector(k)
}

func (e metricExporter) Export(ctx context.Context, data *metricdata.ResourceMetrics) error {
	return e.send(ctx, encodeMetrics(data))
}

func (e metricExporter) ForceFlush(context.Context) error { return nil }
