package ingress

import (
	"net/http"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/telemetry"
)

// beginSpan starts the delivery's span and returns what ends it. The trace is our
// own: a stranger neither names it nor decides whether it is kept. It points to the
// sender's, if the sender names one.
func (d *delivery) beginSpan() (end func()) {
	if d.Tracer == nil {
		return func() {}
	}
	r := d.c.Request()
	theirs := telemetry.SpanContext(r.Header.Get("Traceparent"))
	options := append(telemetry.Linked(theirs), trace.WithSpanKind(trace.SpanKindServer))
	ctx, span := d.Tracer.Start(r.Context(), "ingress", options...)
	d.c.SetRequest(r.WithContext(ctx))
	return func() {
		defer span.End()
		span.SetAttributes(attribute.String("oncehook.source", d.sourceName()))
		if !d.c.Response().Committed { // a panic, which is answered later
			span.SetStatus(codes.Error, "")
			return
		}
		status := d.c.Response().Status
		span.SetAttributes(attribute.Int("http.response.status_code", status))
		if status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, "")
		}
	}
}

// traceDecision tells the span what was decided about a delivery or an event.
func (d *delivery) traceDecision(decision oncehook.Decision, correlationID string) {
	if d.Tracer == nil {
		return
	}
	trace.SpanFromContext(d.c.Request().Context()).SetAttributes(
		attribute.String("oncehook.outcome", string(decision)), attribute.String("oncehook.correlation_id", correlationID))
}

// traceparent is what the outbox keeps, so that the run's spans join the trace.
func (d *delivery) traceparent() string {
	if d.Tracer == nil {
		return ""
	}
	return telemetry.Traceparent(d.c.Request().Context())
}
