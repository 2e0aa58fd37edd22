package dispatch

import (
	"context"

	spanattribute "go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/telemetry"
)

// observed names the row's event in log lines and starts its span: a part of the
// acceptance's trace for the first run, a trace of its own that points there for
// a replay, which a person asked for much later. end takes the result.
func (d *Dispatcher) observed(ctx context.Context, s store.Start) (_ context.Context, end func(result string)) {
	ctx = telemetry.WithEvent(ctx, telemetry.Event{CorrelationID: s.Ref.CorrelationID, ReceiptID: s.Ref.ReceiptID})
	if d.Tracer == nil {
		return ctx, func(string) {}
	}
	accepted := telemetry.SpanContext(s.Traceparent)
	options := []trace.SpanStartOption{
		trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithAttributes(
			spanattribute.String("oncehook.correlation_id", s.Ref.CorrelationID), spanattribute.String("oncehook.source", s.Ref.Source),
			spanattribute.Int("oncehook.run_no", s.Ref.RunNo),
		),
	}
	if s.Ref.RunNo == 1 {
		ctx = trace.ContextWithRemoteSpanContext(ctx, accepted)
	} else {
		options = append(options, telemetry.Linked(accepted)...)
	}
	ctx, span := d.Tracer.Start(ctx, "dispatch", options...)
	return ctx, func(result string) {
		span.SetAttributes(spanattribute.String("oncehook.result", result))
		span.End()
	}
}

// resultStarted is the result of a start that began a run.
const resultStarted = "started"

// waited records how long the event waited for its first start.
func (d *Dispatcher) waited(ctx context.Context, s store.Start, result string) {
	if age, ok := telemetry.Age(s.Ref.ReceiptID); ok && result == resultStarted && s.Ref.RunNo == 1 {
		d.Metrics.DispatchSeconds(ctx, s.Ref.Source, age.Seconds())
	}
}
