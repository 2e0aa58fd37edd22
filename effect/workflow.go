package effect

import (
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
)

// run is the state of one workflow run. The SDK runs one piece of a workflow at
// a time, so it needs no lock.
type run struct {
	registry *Registry
	data     converter.DataConverter
	began    func(runID string, ref oncehook.Ref)
	ref      oncehook.Ref
	// bound says that the run belongs to an event: it takes an oncehook.Ref.
	bound bool
	// called holds the actions called so far.
	called map[string]bool
	// open holds the calls that were not seen to end.
	open []workflow.Future
	// woken counts the wake-ups of each action that nobody has seen; nil before the
	// run's first wait.
	woken map[string]int
	// wokenAll counts those of the whole run.
	wokenAll int
}

type workflowInbound struct {
	interceptor.WorkflowInboundInterceptorBase
	run *run
}

// Init puts the outbound side in front of the SDK's.
func (w *workflowInbound) Init(outbound interceptor.WorkflowOutboundInterceptor) error {
	return w.Next.Init(&workflowOutbound{WorkflowOutboundInterceptorBase: interceptor.WorkflowOutboundInterceptorBase{Next: outbound}, run: w.run})
}

// ExecuteWorkflow runs the workflow's function and then finishes the run: the
// one place that decides what a run came to. A panic passes through: the task
// fails, and a fixed worker continues.
func (w *workflowInbound) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	ref, ok := refOf(in.Args)
	if !ok {
		return w.Next.ExecuteWorkflow(ctx, in)
	}
	w.run.ref, w.run.bound = ref, true
	w.run.began(workflow.GetInfo(ctx).WorkflowExecution.RunID, ref)
	result, err := w.Next.ExecuteWorkflow(ctx, in)
	if workflow.IsContinueAsNewError(err) || workflow.GetInfo(ctx).ParentWorkflowExecution != nil {
		return result, err // the run goes on, or is a part of another
	}
	if waitErr := w.run.waitForOpen(ctx); waitErr != nil {
		return nil, waitErr
	}
	v := judge(err)
	if finishErr := finish(ctx, ref, v); finishErr != nil {
		return nil, finishErr
	}
	if v.state == oncehook.StateDeadLettered {
		return nil, err
	}
	return result, nil
}

// waitForOpen lets calls that the function did not wait for come to an end, so
// that nothing is still under way when the receipt gets its end state.
func (r *run) waitForOpen(ctx workflow.Context) error {
	detached, _ := workflow.NewDisconnectedContext(ctx)
	return workflow.Await(detached, func() bool {
		for _, call := range r.open {
			if !call.IsReady() {
				return false
			}
		}
		return true
	})
}

func refOf(args []any) (oncehook.Ref, bool) {
	if len(args) != 1 {
		return oncehook.Ref{}, false
	}
	switch ref := args[0].(type) {
	case oncehook.Ref:
		return ref, true
	case *oncehook.Ref:
		if ref != nil {
			return *ref, true
		}
	}
	return oncehook.Ref{}, false
}
