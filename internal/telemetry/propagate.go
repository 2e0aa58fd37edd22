package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// headerTraceparent is the W3C header, and the key of a Temporal header's map.
const headerTraceparent = "traceparent"

// Propagator carries a span's place in its trace, and nothing else: baggage comes
// from strangers.
func Propagator() propagation.TextMapPropagator { return propagation.TraceContext{} }

// Traceparent writes the context's span in the W3C form; "" when there is none.
func Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	Propagator().Inject(ctx, carrier)
	return carrier[headerTraceparent]
}

// SpanContext reads the W3C form; what is none is the zero SpanContext.
func SpanContext(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := Propagator().Extract(context.Background(), propagation.MapCarrier{headerTraceparent: traceparent})
	return trace.SpanContextFromContext(ctx)
}

// Linked makes a new trace that points to another's span, if there is one: for
// work that a stranger, or a person much later, caused.
func Linked(to trace.SpanContext) []trace.SpanStartOption {
	options := []trace.SpanStartOption{trace.WithNewRoot()}
	if to.IsValid() {
		options = append(options, trace.WithLinks(trace.Link{SpanContext: to}))
	}
	return options
}
