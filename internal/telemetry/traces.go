package telemetry

import (
	"context"
	"errors"
	"fmt"
	"log/slog"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// Environment variables of OpenTelemetry that decide here. The SDK and its
// exporters read all others themselves: endpoint, headers, certificates, sampler,
// limits, batches.
const (
	envDisabled       = "OTEL_SDK_DISABLED"
	envExporter       = "OTEL_TRACES_EXPORTER"
	envEndpoint       = "OTEL_EXPORTER_OTLP_ENDPOINT"
	envTracesEndpoint = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"
	envProtocol       = "OTEL_EXPORTER_OTLP_PROTOCOL"
	envTracesProtocol = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"
)

// Traces makes spans and exports them, or does neither.
type Traces struct {
	provider trace.TracerProvider
	flush    func(context.Context) error
}

// Process says who makes the spans.
type Process struct {
	Version, Instance string
}

// NewTraces reads OpenTelemetry's standard environment variables. Unlike the
// standard's, its default is to export nothing: it begins with OTEL_TRACES_EXPORTER=otlp
// or with an OTLP endpoint. It connects to nothing yet. The sampler's default is the
// standard's: the parent's decision, else every trace.
func NewTraces(ctx context.Context, p Process, environ func(string) (string, bool), log *slog.Logger) (*Traces, error) {
	get := func(name string) string { value, _ := environ(name); return value }
	quietOpenTelemetry(log)
	exporter, err := newExporter(ctx, get)
	if err != nil {
		return nil, err
	}
	if exporter == nil {
		return Off(), nil
	}
	// Its errors name an endpoint, never a header.
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn("telemetry could not be exported", "error", err.Error())
	}))
	who, err := resource.New(ctx,
		resource.WithAttributes(
			attribute.String("service.name", "oncehook"), attribute.String("service.version", p.Version),
			attribute.String("service.instance.id", p.Instance),
		),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil && !errors.Is(err, resource.ErrPartialResource) {
		return nil, fmt.Errorf("describe the process to OpenTelemetry: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(who))
	return &Traces{provider: provider, flush: provider.ForceFlush}, nil
}

// Off makes no spans.
func Off() *Traces { return &Traces{} }

func newExporter(ctx context.Context, get func(string) string) (sdktrace.SpanExporter, error) {
	kind := get(envExporter)
	if kind == "" && (get(envEndpoint) != "" || get(envTracesEndpoint) != "") {
		kind = "otlp"
	}
	switch {
	case kind == "" || kind == "none" || get(envDisabled) == "true":
		return nil, nil
	case kind != "otlp":
		return nil, fmt.Errorf("%s is neither otlp nor none", envExporter)
	}
	protocol := get(envTracesProtocol)
	if protocol == "" {
		protocol = get(envProtocol)
	}
	switch protocol {
	case "grpc":
		return otlptracegrpc.New(ctx)
	case "", "http/protobuf":
		return otlptracehttp.New(ctx)
	default:
		return nil, fmt.Errorf("%s is neither grpc nor http/protobuf", envProtocol)
	}
}

// On reports whether spans are made.
func (t *Traces) On() bool { return t != nil && t.flush != nil }

// Tracer returns the tracer of a part of the system; nil when no spans are made.
func (t *Traces) Tracer(name string) trace.Tracer {
	if !t.On() {
		return nil
	}
	return t.provider.Tracer(name)
}

// Flush exports what is left, while ctx lasts.
func (t *Traces) Flush(ctx context.Context) error {
	if !t.On() {
		return nil
	}
	return t.flush(ctx)
}
