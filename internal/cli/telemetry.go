package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/baggage"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"mcpwire"
	"mcpwire/client"
	"mcpwire/internal/otlp"
	"mcpwire/telemetry"
)

// flushTime bounds how long the end of a run waits for the collector.
const flushTime = 2 * time.Second

// observed is the telemetry of a run. It is set up when the first server is about to be connected, and only if the
// environment says where to send it. Trouble with it is told once, and fails nothing.
type observed struct {
	started time.Time // of the run

	once    sync.Once
	servers *telemetry.Telemetry // nil: there is none
	span    trace.Span           // of the command
	baggage baggage.Baggage      // of the environment
	ends    []func(context.Context) error

	mu      sync.Mutex
	trouble error // the first
}

// follow returns what follows connections, if anything does.
func (o *observed) follow(ctx context.Context) mcpwire.Telemetry {
	o.once.Do(func() {
		if err := o.setUp(ctx); err != nil {
			o.note(err)
		}
	})
	if o.servers == nil {
		return nil
	}
	return o
}

// Server implements mcpwire.Telemetry.
func (o *observed) Server(name, address string) client.Tracer {
	return within{o.servers.Server(name, address), o}
}

// within is a tracer that puts into the trace of the run what is in no trace: what runs in the background too.
type within struct {
	client.Tracer
	run *observed
}

// Request implements client.Tracer.
func (w within) Request(
	ctx context.Context, t client.Traced,
) (context.Context, json.RawMessage, func(client.Outcome)) {
	return w.Tracer.Request(w.run.under(ctx), t)
}

// Serve implements client.Tracer.
func (w within) Serve(ctx context.Context, t client.Traced) (context.Context, func(client.Outcome)) {
	return w.Tracer.Serve(w.run.under(ctx), t)
}

func (o *observed) under(ctx context.Context) context.Context {
	if trace.SpanContextFromContext(ctx).IsValid() {
		return ctx
	}
	return trace.ContextWithSpan(baggage.ContextWithBaggage(ctx, o.baggage), o.span)
}

func (o *observed) setUp(ctx context.Context) error {
	spans, metrics, err := otlp.Endpoints(os.Getenv)
	if err != nil || spans == nil && metrics == nil {
		return err
	}
	propagator, err := propagators(os.Getenv("OTEL_PROPAGATORS"))
	if err != nil {
		return err
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(o.note))
	otel.SetLogger(logr.Discard()) // which would write to standard error
	about, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "mcpwire"), attribute.String("service.version", client.Version),
	), resource.WithFromEnv())
	if err != nil {
		return err
	}
	settings := telemetry.Options{Propagator: propagator}
	var tracing []sdktrace.TracerProviderOption
	if spans != nil {
		tracing = append(tracing, sdktrace.WithBatcher(otlp.Spans(spans)))
	} else {
		tracing = append(tracing, sdktrace.WithSampler(sdktrace.NeverSample()))
	}
	tracer := sdktrace.NewTracerProvider(append(tracing, sdktrace.WithResource(about))...)
	settings.TracerProvider = tracer
	o.ends = append(o.ends, tracer.Shutdown)
	measuring := []sdkmetric.Option{sdkmetric.WithResource(about)}
	if metrics != nil {
		measuring = append(measuring, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(otlp.Metrics(metrics))))
	}
	meter := sdkmetric.NewMeterProvider(measuring...)
	settings.MeterProvider = meter
	o.ends = append(o.ends, meter.Shutdown)
	ctx = propagator.Extract(ctx, propagation.MapCarrier{ // as shells and build machines pass it on
		"traceparent": os.Getenv("TRACEPARENT"), "tracestate": os.Getenv("TRACESTATE"), "baggage": os.Getenv("BAGGAGE"),
	})
	_, o.span = tracer.Tracer("mcpwire/cli", trace.WithInstrumentationVersion(client.Version)).Start(ctx, "mcpwire",
		trace.WithTimestamp(o.started), trace.WithAttributes(
			attribute.String("process.executable.name", "mcpwire"), attribute.Int("process.pid", os.Getpid()),
		))
	o.baggage = baggage.FromContext(ctx)
	o.servers = telemetry.New(settings)
	return nil
}

// propagators reads OTEL_PROPAGATORS.
func propagators(names string) (propagation.TextMapPropagator, error) {
	if strings.TrimSpace(names) == "" {
		names = "tracecontext,baggage"
	}
	var all []propagation.TextMapPropagator
	for name := range strings.SplitSeq(names, ",") {
		switch strings.TrimSpace(name) {
		case "tracecontext":
			all = append(all, propagation.TraceContext{})
		case "baggage":
			all = append(all, propagation.Baggage{})
		case "none":
		default:
			return nil, fmt.Errorf("OTEL_PROPAGATORS: tracecontext, baggage and none are known, not %q", name)
		}
	}
	return propagation.NewCompositeTextMapPropagator(all...), nil
}

// note keeps the first of what goes wrong.
func (o *observed) note(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.trouble == nil {
		o.trouble = err
	}
}

// end records how the command has ended, sends what is left, and returns what went wrong.
func (o *observed) end(ctx context.Context, command string, code int) error {
	if o.servers != nil {
		o.span.SetName(command)
		o.span.SetAttributes(attribute.Int("process.exit.code", code))
		if code != exitDone {
			o.span.SetAttributes(attribute.String("error.type", strconv.Itoa(code)))
			o.span.SetStatus(codes.Error, "")
		}
		o.span.End()
		o.flush(ctx)
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.trouble
}

func (o *observed) flush(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTime)
	defer cancel()
	var all sync.WaitGroup
	for _, end := range o.ends {
		all.Go(func() {
			err := end(ctx)
			if errors.Is(err, context.DeadlineExceeded) {
				err = fmt.Errorf("the collector did not take everything within %v", flushTime)
			}
			if err != nil {
				o.note(err)
			}
		})
	}
	all.Wait()
}
