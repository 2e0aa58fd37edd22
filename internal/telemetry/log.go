package telemetry

import (
	"context"
	"log/slog"

	"go.opentelemetry.io/otel/trace"
)

// Keys of the attributes that tie lines together.
const (
	KeyCorrelationID = "correlation_id"
	KeyReceiptID     = "receipt_id"
	KeyTraceID       = "trace_id"
	keySpanID        = "span_id"
	// How the Temporal SDK names the run, the trace and the span of a line.
	temporalRunID   = "RunID"
	temporalTraceID = "TraceID"
	temporalSpanID  = "SpanID"
)

// LogHandler adds to each line which event and which trace it belongs to: by the
// line's context, or, where the Temporal SDK writes it without one, by the run.
// What a line says itself stays.
type LogHandler struct {
	next slog.Handler
	runs *Runs
	own  attributes
}

// attributes is what is known of a line's own attributes.
type attributes struct {
	correlation, receipt, trace bool
	runID                       string
}

func (a *attributes) see(attr slog.Attr) {
	switch attr.Key {
	case KeyCorrelationID:
		a.correlation = true
	case KeyReceiptID:
		a.receipt = true
	case KeyTraceID:
		a.trace = true
	case temporalRunID:
		a.runID = attr.Value.String()
	}
}

// NewLogHandler wraps next. runs may be nil.
func NewLogHandler(next slog.Handler, runs *Runs) *LogHandler {
	return &LogHandler{next: next, runs: runs}
}

// Enabled implements slog.Handler.
func (h *LogHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return h.next.Enabled(ctx, level)
}

// Handle implements slog.Handler.
func (h *LogHandler) Handle(ctx context.Context, r slog.Record) error {
	own := h.own
	r.Attrs(func(a slog.Attr) bool {
		own.see(a)
		return true
	})
	event := EventOf(ctx)
	if event == (Event{}) && own.runID != "" {
		event = h.runs.Event(own.runID)
	}
	add := make([]slog.Attr, 0, 3)
	if !own.correlation && event.CorrelationID != "" {
		add = append(add, slog.String(KeyCorrelationID, event.CorrelationID))
	}
	if !own.receipt && event.ReceiptID != "" {
		add = append(add, slog.String(KeyReceiptID, event.ReceiptID))
	}
	if span := trace.SpanContextFromContext(ctx); !own.trace && span.IsValid() {
		add = append(add, slog.String(KeyTraceID, span.TraceID().String()))
	}
	if len(add) > 0 {
		r = r.Clone()
		r.AddAttrs(add...)
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h *LogHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	other := *h
	named := make([]slog.Attr, 0, len(attrs))
	for _, a := range attrs {
		switch a.Key {
		case temporalTraceID:
			a.Key = KeyTraceID
		case temporalSpanID:
			a.Key = keySpanID
		}
		other.own.see(a)
		named = append(named, a)
	}
	other.next = h.next.WithAttrs(named)
	return &other
}

// WithGroup implements slog.Handler.
func (h *LogHandler) WithGroup(name string) slog.Handler {
	other := *h
	other.next = h.next.WithGroup(name)
	return &other
}
