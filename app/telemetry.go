package app

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/contrib/opentelemetry"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/metrics"
	"github.com/oncehook/oncehook/internal/telemetry"
)

// flushTimeout bounds the export of the last spans at a process's end.
const flushTimeout = time.Second

// startTelemetry makes the process's log name events, and its traces by
// OpenTelemetry's environment variables.
func (a *App) startTelemetry(version string) (err error) {
	a.runs = &telemetry.Runs{}
	a.log = slog.New(telemetry.NewLogHandler(a.log.Handler(), a.runs))
	if err = a.metrics.Build(version); err != nil {
		return err
	}
	who := telemetry.Process{Version: version, Instance: a.process.String()}
	a.traces, err = telemetry.NewTraces(context.Background(), who, os.LookupEnv, a.log)
	if err != nil {
		return fmt.Errorf("set up traces: %w", err)
	}
	return nil
}

// flushTelemetry exports what is left, for at most a second.
func (a *App) flushTelemetry(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	if err := a.traces.Flush(ctx); err != nil {
		a.log.WarnContext(ctx, "the last spans were not exported", "error", err.Error())
	}
}

// instrument makes the Temporal client and its workers count, and trace when
// traces are exported.
func (a *App) instrument(options *client.Options) error {
	options.MetricsHandler = opentelemetry.NewMetricsHandler(opentelemetry.MetricsHandlerOptions{
		Meter: a.metrics.Meter(metrics.TemporalScope),
		// Its default makes gauges of counters, and panics on an error.
		UseMonotonicCounters: true,
		OnError:              func(err error) { a.log.Warn("a metric of temporal is lost", "error", err.Error()) },
	})
	if !a.traces.On() {
		return nil
	}
	tracing, err := opentelemetry.NewTracingInterceptor(opentelemetry.TracerOptions{
		Tracer:            a.traces.Tracer("oncehook/temporal"),
		TextMapPropagator: telemetry.Propagator(),
		DisableBaggage:    true,
		SpanStarter:       telemetry.QuietSpan,
		// A header that another process wrote must not stop a run.
		AllowInvalidParentSpans: true,
	})
	if err != nil {
		return fmt.Errorf("trace temporal: %w", err)
	}
	// The client's interceptors are its workers' too.
	options.Interceptors = append(options.Interceptors, tracing)
	return nil
}

// failurePrefix begins the outcomes of attempts that have an error's type.
const failurePrefix = "oncehook."

type attemptKey struct{}

// attempt is what telemetry knows of an attempt of an action.
type attempt struct {
	ref   oncehook.Ref
	began time.Time
}

// effectTelemetry makes the worker's interceptor tell of attempts and ends, and
// name their event in log lines and spans.
func (a *App) effectTelemetry() []effect.Option {
	return []effect.Option{
		effect.OnRun(a.remember),
		effect.OnEvent(func(ctx context.Context, action string, ref oncehook.Ref) context.Context {
			a.remember(activity.GetInfo(ctx).WorkflowExecution.RunID, ref)
			trace.SpanFromContext(ctx).SetAttributes(
				attribute.String("oncehook.correlation_id", ref.CorrelationID),
				attribute.String("oncehook.source", ref.Source),
				attribute.String("oncehook.action", action),
			)
			ctx = context.WithValue(ctx, attemptKey{}, attempt{ref: ref, began: time.Now()})
			return telemetry.WithEvent(ctx, eventOf(ref))
		}),
		effect.OnAttempt(func(ctx context.Context, action, outcome string) {
			a.metrics.ActionAttempt(ctx, action, outcome)
			if strings.HasPrefix(outcome, failurePrefix) {
				a.log.InfoContext(ctx, "an attempt did not succeed", "action", action, "outcome", outcome)
			}
			if own, ok := ctx.Value(attemptKey{}).(attempt); ok {
				a.metrics.ActionSeconds(ctx, action, outcome, time.Since(own.began).Seconds())
			}
		}),
		effect.OnEnd(func(ctx context.Context, state oncehook.State) {
			a.metrics.ReceiptEnd(ctx, string(state))
			own, _ := ctx.Value(attemptKey{}).(attempt)
			if age, ok := telemetry.Age(own.ref.ReceiptID); ok && own.ref.RunNo == 1 {
				a.metrics.EventSeconds(ctx, own.ref.Source, string(state), age.Seconds())
			}
		}),
	}
}

func (a *App) remember(runID string, ref oncehook.Ref) {
	if ref.CorrelationID != "" {
		a.runs.Remember(runID, eventOf(ref))
	}
}

func eventOf(ref oncehook.Ref) telemetry.Event {
	return telemetry.Event{CorrelationID: ref.CorrelationID, ReceiptID: ref.ReceiptID}
}
