package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/oncehook/oncehook/internal/telemetry"
)

func line(t *testing.T, runs *telemetry.Runs, say func(*slog.Logger)) map[string]any {
	t.Helper()
	var out bytes.Buffer
	say(slog.New(telemetry.NewLogHandler(slog.NewJSONHandler(&out, nil), runs)))
	var fields map[string]any
	require.NoError(t, json.Unmarshal(out.Bytes(), &fields))
	return fields
}

var event = telemetry.Event{CorrelationID: "c-1", ReceiptID: "r-1"}

func TestALineNamesTheEventAndTheTraceOfItsContext(t *testing.T) {
	span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}})
	ctx := trace.ContextWithSpanContext(telemetry.WithEvent(context.Background(), event), span)
	fields := line(t, nil, func(l *slog.Logger) { l.InfoContext(ctx, "said") })
	require.Equal(t, "c-1", fields["correlation_id"])
	require.Equal(t, "r-1", fields["receipt_id"])
	require.Equal(t, span.TraceID().String(), fields["trace_id"])
}

func TestWhatALineSaysItselfStays(t *testing.T) {
	ctx := telemetry.WithEvent(context.Background(), event)
	for name, say := range map[string]func(*slog.Logger){
		"in the line": func(l *slog.Logger) { l.InfoContext(ctx, "said", "correlation_id", "own") },
		"before it":   func(l *slog.Logger) { l.With("correlation_id", "own").InfoContext(ctx, "said") },
	} {
		t.Run(name, func(t *testing.T) {
			fields := line(t, nil, say)
			require.Equal(t, "own", fields["correlation_id"])
			require.Equal(t, "r-1", fields["receipt_id"])
		})
	}
}

// temporals is an attribute as the Temporal SDK names it.
func temporals(key string, value any) []any { return []any{key, value} }

// The Temporal SDK writes without a context, and names the run.
func TestALineOfTemporalNamesTheEventOfItsRun(t *testing.T) {
	runs := &telemetry.Runs{}
	runs.Remember("run-1", event)
	for name, say := range map[string]func(*slog.Logger){
		"in the line": func(l *slog.Logger) { l.Warn("Activity error.", temporals("RunID", "run-1")...) },
		"before it": func(l *slog.Logger) {
			l.With(temporals("RunID", "run-1")...).With(temporals("Attempt", 1)...).Warn("Activity error.")
		},
	} {
		t.Run(name, func(t *testing.T) {
			fields := line(t, runs, say)
			require.Equal(t, "c-1", fields["correlation_id"])
			require.Equal(t, "r-1", fields["receipt_id"])
		})
	}
	fields := line(t, runs, func(l *slog.Logger) { l.Warn("said", temporals("RunID", "another")...) })
	require.NotContains(t, fields, "correlation_id")
	fields = line(t, runs, func(l *slog.Logger) { l.With(temporals("TraceID", trace.TraceID{1})...).Warn("said") })
	require.Equal(t, trace.TraceID{1}.String(), fields["trace_id"])
}

func TestRememberedRunsAreBounded(t *testing.T) {
	runs := &telemetry.Runs{}
	for n := range 10_000 {
		runs.Remember(strconv.Itoa(n), event)
	}
	require.Zero(t, runs.Event("0"))
	require.Equal(t, event, runs.Event("9999"))
}
