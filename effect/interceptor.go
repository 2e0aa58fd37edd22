package effect

import (
	"context"
	"log/slog"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// Option adjusts the interceptor.
type Option func(*workerInterceptor)

// WithLog sets the log. Defaults to slog.Default.
func WithLog(log *slog.Logger) Option { return func(w *workerInterceptor) { w.log = log } }

// WithDataConverter sets the converter of what the interceptors put into headers:
// the client's. Defaults to the SDK's default.
func WithDataConverter(data converter.DataConverter) Option {
	return func(w *workerInterceptor) { w.data = data }
}

// OnAttempt is called after each attempt of an action with its outcome: done,
// repeated, or the type of its error.
func OnAttempt(f func(ctx context.Context, action, outcome string)) Option {
	return func(w *workerInterceptor) { w.attempted = f }
}

// OnEnd is called when a run's end was written.
func OnEnd(f func(ctx context.Context, state oncehook.State)) Option {
	return func(w *workerInterceptor) { w.ended = f }
}

// WorkerInterceptor returns both interceptors, for worker.Options.Interceptors.
// A replayer, which runs no activity, may pass nil for work.
func (r *Registry) WorkerInterceptor(work *store.Work, options ...Option) interceptor.WorkerInterceptor {
	w := &workerInterceptor{
		registry: r, work: work, log: slog.Default(), attempts: &Attempts{},
		data:      converter.GetDefaultDataConverter(),
		attempted: func(context.Context, string, string) {},
		ended:     func(context.Context, oncehook.State) {},
		event:     func(ctx context.Context, _ string, _ oncehook.Ref) context.Context { return ctx },
		began:     func(string, oncehook.Ref) {},
	}
	for _, option := range options {
		option(w)
	}
	return w
}

type workerInterceptor struct {
	interceptor.WorkerInterceptorBase
	registry  *Registry
	work      *store.Work
	log       *slog.Logger
	data      converter.DataConverter
	attempted func(ctx context.Context, action, outcome string)
	ended     func(ctx context.Context, state oncehook.State)
	event     func(ctx context.Context, action string, ref oncehook.Ref) context.Context
	began     func(runID string, ref oncehook.Ref)
	attempts  *Attempts
}

// InterceptActivity is called for each attempt.
func (w *workerInterceptor) InterceptActivity(_ context.Context, next interceptor.ActivityInboundInterceptor) interceptor.ActivityInboundInterceptor {
	attempt := &activityInbound{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: next}, workerInterceptor: w}
	return &counted{ActivityInboundInterceptorBase: interceptor.ActivityInboundInterceptorBase{Next: attempt}, attempts: w.attempts}
}

// InterceptWorkflow is called for each run.
func (w *workerInterceptor) InterceptWorkflow(_ workflow.Context, next interceptor.WorkflowInboundInterceptor) interceptor.WorkflowInboundInterceptor {
	return &workflowInbound{
		WorkflowInboundInterceptorBase: interceptor.WorkflowInboundInterceptorBase{Next: next},
		run:                            &run{registry: w.registry, data: w.data, began: w.began, called: map[string]bool{}},
	}
}
