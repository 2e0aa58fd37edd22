package effect

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// FinishInput is the input of oncehook.finish. It is in histories and may only grow.
type FinishInput struct {
	ReceiptID string `json:"receipt_id"`
	RunNo     int    `json:"run_no"`
	// Outcome is the end state of the receipt, Cause a stable word, Detail what
	// an operator reads.
	Outcome oncehook.State `json:"outcome"`
	Cause   string         `json:"cause"`
	Detail  string         `json:"detail,omitempty"`
	// CorrelationID and Source are for logs, traces and metrics.
	CorrelationID string `json:"correlation_id,omitempty"`
	Source        string `json:"source,omitempty"`
}

const (
	finishTimeout = 15 * time.Second
	// finishBudget stands for no bound, which a local activity cannot have.
	finishBudget = 10 * 365 * 24 * time.Hour
)

// finish writes the run's end, whatever happened to the run's own context, and
// tries until it is written.
func finish(ctx workflow.Context, ref oncehook.Ref, v verdict) error {
	ctx, _ = workflow.NewDisconnectedContext(ctx)
	in := FinishInput{ReceiptID: ref.ReceiptID, RunNo: ref.RunNo, Outcome: v.state, Cause: v.cause, Detail: v.detail, CorrelationID: ref.CorrelationID, Source: ref.Source}
	policy := &temporal.RetryPolicy{InitialInterval: 200 * time.Millisecond, BackoffCoefficient: 2, MaximumInterval: time.Minute}
	summary := "the receipt ends " + string(v.state) + " (" + v.cause + ")"
	if ref.Local {
		ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
			StartToCloseTimeout: finishTimeout, ScheduleToCloseTimeout: finishBudget, RetryPolicy: policy, Summary: summary,
		})
		return workflow.ExecuteLocalActivity(ctx, oncehook.ActionFinish, in).Get(ctx, nil)
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: finishTimeout, ScheduleToCloseTimeout: finishBudget, RetryPolicy: policy, Summary: summary,
	})
	return workflow.ExecuteActivity(ctx, oncehook.ActionFinish, in).Get(ctx, nil)
}

// finish is the activity's side.
func (a *activityInbound) finish(ctx context.Context, args []any) error {
	if len(args) != 1 {
		return permanent(fmt.Errorf("%s takes one input", oncehook.ActionFinish))
	}
	in, ok := args[0].(FinishInput)
	if !ok {
		return permanent(fmt.Errorf("%s takes a FinishInput", oncehook.ActionFinish))
	}
	id, err := uuid.Parse(in.ReceiptID)
	if err != nil {
		return permanent(fmt.Errorf("receipt id %q: %w", in.ReceiptID, err))
	}
	ctx = a.event(ctx, oncehook.ActionFinish, oncehook.Ref{
		ReceiptID: in.ReceiptID, RunNo: in.RunNo, CorrelationID: in.CorrelationID, Source: in.Source,
	})
	found, err := a.work.Finish(ctx, store.Finish{ReceiptID: id, RunNo: in.RunNo, State: in.Outcome, Cause: in.Cause, Detail: in.Detail})
	if err != nil {
		return finishFailed(ctx, err)
	}
	if found == store.FinishWritten {
		a.ended(ctx, in.Outcome)
	} else {
		a.log.WarnContext(ctx, "the run's end was not needed", "receipt_id", in.ReceiptID, "run_no", in.RunNo, "found", string(found))
	}
	return nil
}
