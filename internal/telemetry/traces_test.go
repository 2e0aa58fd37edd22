package telemetry_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/oncehook/oncehook/internal/telemetry"
)

func traces(t *testing.T, environ map[string]string) (*telemetry.Traces, error) {
	t.Helper()
	return telemetry.NewTraces(t.Context(), telemetry.Process{}, func(name string) (string, bool) {
		value, ok := environ[name]
		return value, ok
	}, slog.New(slog.DiscardHandler))
}

func TestNothingIsExportedUnlessTheEnvironmentSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		environ map[string]string
		on      bool
	}{
		"nothing":             {nil, false},
		"none":                {map[string]string{"OTEL_TRACES_EXPORTER": "none", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false},
		"disabled":            {map[string]string{"OTEL_SDK_DISABLED": "true", "OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, false},
		"an endpoint":         {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"}, true},
		"a traces' endpoint":  {map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://127.0.0.1:1"}, true},
		"the exporter's name": {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, true},
		"gRPC":                {map[string]string{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			made, err := traces(t, c.environ)
			require.NoError(t, err)
			require.Equal(t, c.on, made.On())
			require.Equal(t, c.on, made.Tracer("x") != nil)
		})
	}
}

func TestAnUnknownExporterIsAnErrorThatRepeatsNoValue(t *testing.T) {
	for _, environ := range []map[string]string{
		{"OTEL_TRACES_EXPORTER": "zipkin-secret"},
		{"OTEL_TRACES_EXPORTER": "otlp", "OTEL_EXPORTER_OTLP_PROTOCOL": "secret"},
	} {
		_, err := traces(t, environ)
		require.ErrorContains(t, err, "OTEL_")
		require.NotContains(t, err.Error(), "secret")
	}
}

func TestWhatOpenTelemetryCannotReadIsNotRepeated(t *testing.T) {
	for protocol, canary := range map[string]string{"http/protobuf": "canary-3b5d", "grpc": "canary-9e07"} {
		t.Run(protocol, func(t *testing.T) {
			// Mistakes that are easily made: a colon for the equals sign, a raw percent sign, a
			// password in a URL that cannot be parsed.
			t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "Authorization: Bearer "+canary+",x-key=%zz"+canary)
			t.Setenv("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://user:"+canary+"@127.0.0.1:port")
			var said bytes.Buffer
			_, err := telemetry.NewTraces(t.Context(), telemetry.Process{}, func(name string) (string, bool) {
				if name == "OTEL_EXPORTER_OTLP_PROTOCOL" {
					return protocol, true
				}
				return os.LookupEnv(name)
			}, slog.New(slog.NewJSONHandler(&said, nil)))
			require.NoError(t, err)
			require.Contains(t, said.String(), "parse headers", "the operator learns that a header is ignored")
			require.NotContains(t, said.String(), canary)
		})
	}
}

func recorder() (*tracetest.SpanRecorder, trace.Tracer) {
	spans := tracetest.NewSpanRecorder()
	return spans, sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans)).Tracer("test")
}

func TestATraceparentSurvivesItsRow(t *testing.T) {
	_, tracer := recorder()
	ctx, span := tracer.Start(context.Background(), "ingress")
	kept := telemetry.SpanContext(telemetry.Traceparent(ctx))
	require.Equal(t, span.SpanContext().TraceID(), kept.TraceID())
	require.Equal(t, span.SpanContext().SpanID(), kept.SpanID())
	require.True(t, kept.IsSampled())
	require.Empty(t, telemetry.Traceparent(context.Background()))
	for _, broken := range []string{"", "x", "00-0-0-01", "00-00000000000000000000000000000000-0000000000000000-01"} {
		require.False(t, telemetry.SpanContext(broken).IsValid())
	}
}

type typed struct{ error }

func (typed) Type() string { return "oncehook.retryable" }

func TestAQuietSpanTellsNeitherErrorsTextsNorEventKeys(t *testing.T) {
	spans, tracer := recorder()
	span := telemetry.QuietSpan(context.Background(), tracer, "RunActivity:x")
	span.SetAttributes(attribute.String("temporalWorkflowID", "acme:canary:1"), attribute.String("temporalRunID", "r"))
	span.RecordError(typed{errors.New("canary")})
	span.SetStatus(codes.Error, "canary")
	span.End()
	ended := spans.Ended()
	require.Len(t, ended, 1)
	require.Equal(t, codes.Error, ended[0].Status().Code)
	require.Empty(t, ended[0].Status().Description)
	require.Empty(t, ended[0].Events())
	require.ElementsMatch(t, []attribute.KeyValue{
		attribute.String("temporalRunID", "r"), attribute.String("error.type", "oncehook.retryable"),
	}, ended[0].Attributes())
}

func TestWithoutTracesTheTransportIsTheBase(t *testing.T) {
	require.Equal(t, http.DefaultTransport, telemetry.Transport(http.DefaultTransport, telemetry.Off()))
}

func TestADownstreamLearnsItsPlaceInTheTraceAndNoBaggage(t *testing.T) {
	got := make(chan http.Header, 1)
	downstream := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got <- r.Header }))
	t.Cleanup(downstream.Close)
	made, err := traces(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1"})
	require.NoError(t, err)
	ctx, span := made.Tracer("test").Start(t.Context(), "effect")
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, downstream.URL, http.NoBody)
	require.NoError(t, err)
	response, err := telemetry.Transport(http.DefaultTransport, made).RoundTrip(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	header := <-got
	require.Contains(t, header.Get("Traceparent"), span.SpanContext().TraceID().String())
	require.Empty(t, header.Get("Baggage"))
	require.Empty(t, r.Header.Get("Traceparent"), "the caller's request is its own")
}
