package effect

import (
	"fmt"
	"reflect"

	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
)

type workflowOutbound struct {
	interceptor.WorkflowOutboundInterceptorBase
	run *run
}

// preparedKey marks the context of a local activity that ExecuteActivity chose.
type preparedKey struct{}

// ExecuteActivity calls an action as the run's input says, and completes the
// options of every activity.
func (w *workflowOutbound) ExecuteActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	action, ok := w.run.action(name)
	switch {
	case name == oncehook.ActionFinish:
		return w.Next.ExecuteActivity(ctx, name, args...)
	case !ok:
		return w.Next.ExecuteActivity(plainOptions(ctx, name), name, args...)
	}
	if err := w.run.begin(name); err != nil {
		return failed(ctx, err)
	}
	if w.run.ref.Local && action.declaration.Kind == oncehook.KindLocal {
		// Through the SDK's own function, which finds the registered function by
		// name; it comes back to ExecuteLocalActivity below.
		return workflow.ExecuteLocalActivity(workflow.WithValue(ctx, preparedKey{}, true), name, args...)
	}
	ctx, c := asRegular(ctx, summaryOf(ctx, action.declaration, w.run.ref))
	return w.run.call(ctx, name, c, func(ctx workflow.Context) workflow.Future {
		return w.Next.ExecuteActivity(ctx, name, args...)
	})
}

// ExecuteLocalActivity calls an action as a local activity, chosen by
// ExecuteActivity or by the engineer.
func (w *workflowOutbound) ExecuteLocalActivity(ctx workflow.Context, name string, args ...any) workflow.Future {
	action, ok := w.run.action(name)
	if !ok {
		return w.Next.ExecuteLocalActivity(ctx, name, args...)
	}
	if action.declaration.Kind != oncehook.KindLocal {
		return failed(ctx, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("action %s is remote: call it by Do or ExecuteActivity, since a dead worker is noticed there", name), oncehook.FailurePermanent, nil))
	}
	if ctx.Value(preparedKey{}) == nil {
		if err := w.run.begin(name); err != nil {
			return failed(ctx, err)
		}
	}
	args, err := typedArgs(action.declaration, args)
	if err != nil {
		return failed(ctx, err)
	}
	ctx, c := asLocal(ctx, summaryOf(ctx, action.declaration, w.run.ref))
	return w.run.call(ctx, name, c, func(ctx workflow.Context) workflow.Future {
		return unlessStopped(ctx, w.Next.ExecuteLocalActivity(ctx, name, args...))
	})
}

func (r *run) action(name string) (Binding, bool) {
	if !r.bound {
		return Binding{}, false
	}
	action, ok := r.registry.actions[name]
	return action, ok
}

// begin refuses a second call of one action: its row and its idempotency key
// stand for one effect of the event, so the second would silently do nothing.
func (r *run) begin(name string) error {
	if r.called[name] {
		return temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("action %s was called before in this run; an action is one effect of one event: declare a second one", name), oncehook.FailureRepeated, nil)
	}
	r.called[name] = true
	return nil
}

// call makes the attempts of an action and keeps their future until the run's end.
// Each has an envelope and a budget of its own.
func (r *run) call(ctx workflow.Context, name string, c calling, attempt func(workflow.Context) workflow.Future) workflow.Future {
	wait := callOf(ctx).wait
	if wait <= 0 {
		wait = DefaultWait
	}
	until := workflow.Now(ctx).Add(wait)
	calls := &attempts{run: r, name: name, until: until, make: func(ctx workflow.Context) workflow.Future {
		e := r.envelope(ctx, c)
		e.WaitUntil = until
		if err := e.attach(ctx, r.data); err != nil {
			return failed(ctx, err)
		}
		return attempt(ctx)
	}}
	future := calls.start(ctx)
	r.open = append(r.open, future)
	return future
}

func (r *run) envelope(ctx workflow.Context, c calling) envelope {
	return envelope{
		Ref: r.ref, Epoch: 1, BusinessKey: callOf(ctx).businessKey, MaxAttempts: c.maxAttempts,
		Deadline: workflow.Now(ctx).Add(c.budget),
	}
}

// plainOptions completes the options of an activity that is no action. The
// ledger does not count its attempts, so Temporal does.
func plainOptions(ctx workflow.Context, name string) workflow.Context {
	policy := workflow.GetActivityOptions(ctx).RetryPolicy
	if policy == nil {
		policy = defaultPolicy()
		policy.MaximumAttempts = DefaultMaxAttempts
	}
	ctx, _ = asRegular(ctx, name)
	options := workflow.GetActivityOptions(ctx)
	options.RetryPolicy = policy
	return workflow.WithActivityOptions(ctx, options)
}

// typedArgs gives a local activity, whose input the SDK hands over as it is,
// the same types that the encoded input of a regular one would become.
func typedArgs(d Declaration, args []any) ([]any, error) {
	if len(args) != 1 {
		return nil, temporal.NewNonRetryableApplicationError(
			fmt.Sprintf("action %s takes one input, not %d", d.Name, len(args)), oncehook.FailurePermanent, nil)
	}
	if t := reflect.TypeOf(args[0]); t == d.In {
		return args, nil
	}
	in := reflect.New(d.In)
	dc := converter.GetDefaultDataConverter()
	payload, err := dc.ToPayload(args[0])
	if err == nil {
		err = dc.FromPayload(payload, in.Interface())
	}
	if err != nil {
		return nil, temporal.NewNonRetryableApplicationError(fmt.Sprintf("the input of action %s does not fit: %v", d.Name, err), oncehook.FailurePermanent, nil)
	}
	return []any{in.Elem().Interface()}, nil
}

func failed(ctx workflow.Context, err error) workflow.Future {
	future, settable := workflow.NewFuture(ctx)
	settable.SetError(err)
	return future
}
