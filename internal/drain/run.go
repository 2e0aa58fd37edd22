package drain

import (
	"context"
	"errors"
	"fmt"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"

	"github.com/oncehook/oncehook/internal/store"
)

// soon is how far ahead a retry still counts as now.
const soon = 5 * time.Second

// progress is what a run could do now.
type progress int

const (
	active progress = iota
	retrying
	waiting
)

// ask asks Temporal what the run could do now, and says why when it could go on.
func (d *Drain) ask(ctx context.Context, run store.OpenRun) (progress, string, error) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	answer, err := d.Client.DescribeWorkflow(ctx, run.Key, "")
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return active, "temporal does not know it, which the reconciler settles", nil
	}
	if err != nil {
		return active, "", fmt.Errorf("describe the run %s: %w", run.Key, err)
	}
	p, why := judge(answer.RawResponse, run, d.Now())
	return p, why, nil
}

func judge(run *workflowservice.DescribeWorkflowExecutionResponse, known store.OpenRun, now time.Time) (progress, string) {
	switch status := run.GetWorkflowExecutionInfo().GetStatus(); status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING:
	case enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED:
		return waiting, ""
	default:
		return active, "it has ended (" + status.String() + ") without the receipt's end, which the reconciler settles"
	}
	if task := run.GetPendingWorkflowTask(); task != nil {
		return active, fmt.Sprintf("a workflow task is pending, attempt %d", task.GetAttempt())
	}
	later := false
	for _, call := range run.GetPendingActivities() {
		name := call.GetActivityType().GetName()
		switch {
		case paused(call):
		case call.GetState() != enumspb.PENDING_ACTIVITY_STATE_SCHEDULED:
			return active, fmt.Sprintf("%s is under way, attempt %d", name, call.GetAttempt())
		case call.GetNextAttemptScheduleTime() == nil || call.GetNextAttemptScheduleTime().AsTime().Before(now.Add(soon)):
			return active, fmt.Sprintf("%s is due, attempt %d", name, call.GetAttempt())
		default:
			later = true
		}
	}
	// A local activity's retry is a timer to Temporal; the ledger knows better.
	switch next := known.NextAttemptAt; {
	case later || next.After(now.Add(soon)):
		return retrying, ""
	case next.After(now.Add(-soon)):
		return active, "a retry is due"
	}
	return waiting, ""
}

func paused(call *workflowpb.PendingActivityInfo) bool {
	return call.GetPaused() || call.GetState() == enumspb.PENDING_ACTIVITY_STATE_PAUSED
}
