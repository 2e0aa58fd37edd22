package effect

import (
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"
)

// stoppedWorker is the reason of the panic that hands a run to another worker.
const stoppedWorker = "this worker is stopping; another one runs the local activity again"

// unlessStopped passes on what a local activity came to, unless it was cancelled
// and its caller was not: then it is this worker that stops. The SDK would record
// the cancellation as the activity's outcome, and the run would end cancelled
// because of a deployment. A panic fails the workflow task, which drops that
// record; another worker runs the task, and so the local activity, again.
func unlessStopped(ctx workflow.Context, call workflow.Future) workflow.Future {
	future, settable := workflow.NewFuture(ctx)
	detached, _ := workflow.NewDisconnectedContext(ctx)
	workflow.Go(detached, func(detached workflow.Context) {
		if temporal.IsCanceledError(call.Get(detached, nil)) && ctx.Err() == nil {
			panic(stoppedWorker)
		}
		settable.Chain(call)
	})
	return future
}
