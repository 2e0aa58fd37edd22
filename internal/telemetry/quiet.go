package telemetry

import (
	"context"
	"fmt"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
)

// hiddenPrefix begins the attributes in which the Temporal SDK's spans name
// workflow ids, which hold a tenant and an event id.
const hiddenPrefix = "temporalWorkflowID"

// QuietSpan starts a span that keeps quiet about what it must not tell: the texts
// of errors, which engineers and databases write, and event keys. What failed, and
// how, is said by an error's type.
func QuietSpan(ctx context.Context, t trace.Tracer, name string, options ...trace.SpanStartOption) trace.Span {
	_, span := t.Start(ctx, name, options...)
	return quietSpan{span}
}

type quietSpan struct{ trace.Span }

// SetAttributes implements trace.Span.
func (s quietSpan) SetAttributes(attrs ...attribute.KeyValue) {
	told := make([]attribute.KeyValue, 0, len(attrs))
	for _, a := range attrs {
		if !strings.HasPrefix(string(a.Key), hiddenPrefix) {
			told = append(told, a)
		}
	}
	s.Span.SetAttributes(told...)
}

// RecordError implements trace.Span.
func (s quietSpan) RecordError(err error, _ ...trace.EventOption) {
	if err != nil {
		s.Span.SetAttributes(attribute.String("error.type", errorType(err)))
	}
}

// SetStatus implements trace.Span.
func (s quietSpan) SetStatus(code codes.Code, _ string) { s.Span.SetStatus(code, "") }

// errorType is the type that an error has in Temporal, else in Go.
func errorType(err error) string {
	if typed, ok := err.(interface{ Type() string }); ok {
		if name := typed.Type(); name != "" {
			return name
		}
	}
	return fmt.Sprintf("%T", err)
}
