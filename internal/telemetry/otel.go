package telemetry

import (
	"context"
	"log/slog"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
)

// quietOpenTelemetry takes the place of OpenTelemetry's own log, which writes to
// standard error and quotes what it could not read: a header of the exporter, which
// is a credential, or a URL with a user's password.
func quietOpenTelemetry(log *slog.Logger) {
	otel.SetLogger(logr.New(quietSink{log}))
}

// quietSink keeps what went wrong, and neither the values nor the error's text.
type quietSink struct{ log *slog.Logger }

// Init implements logr.LogSink.
func (quietSink) Init(logr.RuntimeInfo) {}

// Enabled implements logr.LogSink: of OpenTelemetry's levels only errors matter.
func (quietSink) Enabled(level int) bool { return level == 0 }

// Info implements logr.LogSink.
func (s quietSink) Info(_ int, message string, _ ...any) { s.warn(message) }

// Error implements logr.LogSink.
func (s quietSink) Error(_ error, message string, _ ...any) { s.warn(message) }

func (s quietSink) warn(message string) {
	s.log.WarnContext(context.Background(), "OpenTelemetry ignores a setting of its environment (OTEL_…)", "problem", message)
}

// WithValues implements logr.LogSink.
func (s quietSink) WithValues(...any) logr.LogSink { return s }

// WithName implements logr.LogSink.
func (s quietSink) WithName(string) logr.LogSink { return s }
