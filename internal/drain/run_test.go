package drain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	workflowpb "go.temporal.io/api/workflow/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/oncehook/oncehook/internal/store"
)

func TestTemporalAndTheLedgerTellWhetherARunCouldGoOn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	task := &workflowpb.PendingWorkflowTaskInfo{Attempt: 3}
	call := func(state enumspb.PendingActivityState, next time.Duration) *workflowpb.PendingActivityInfo {
		info := &workflowpb.PendingActivityInfo{ActivityType: &commonpb.ActivityType{Name: "test.call"}, State: state, Attempt: 2}
		if next != 0 {
			info.NextAttemptScheduleTime = timestamppb.New(now.Add(next))
		}
		return info
	}
	const (
		scheduled = enumspb.PENDING_ACTIVITY_STATE_SCHEDULED
		started   = enumspb.PENDING_ACTIVITY_STATE_STARTED
		stopped   = enumspb.PENDING_ACTIVITY_STATE_PAUSED
	)
	for name, c := range map[string]struct {
		status enumspb.WorkflowExecutionStatus
		task   *workflowpb.PendingWorkflowTaskInfo
		calls  []*workflowpb.PendingActivityInfo
		next   time.Duration
		want   progress
		why    string
	}{
		"nothing pending":            {want: waiting},
		"paused by a person":         {status: enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED, task: task, want: waiting},
		"closed":                     {status: enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, want: active, why: "Terminated"},
		"a workflow task":            {task: task, want: active, why: "attempt 3"},
		"an attempt under way":       {calls: []*workflowpb.PendingActivityInfo{call(started, 0)}, want: active, why: "test.call is under way"},
		"an attempt due":             {calls: []*workflowpb.PendingActivityInfo{call(scheduled, 0)}, want: active, why: "test.call is due"},
		"a retry due soon":           {calls: []*workflowpb.PendingActivityInfo{call(scheduled, 4*time.Second)}, want: active, why: "test.call is due"},
		"a retry due later":          {calls: []*workflowpb.PendingActivityInfo{call(scheduled, 6*time.Second)}, want: retrying},
		"one later, one now":         {calls: []*workflowpb.PendingActivityInfo{call(scheduled, time.Hour), call(started, 0)}, want: active, why: "under way"},
		"a paused activity":          {calls: []*workflowpb.PendingActivityInfo{call(stopped, 0)}, want: waiting},
		"a local retry due later":    {next: time.Minute, want: retrying},
		"a local retry due soon":     {next: 4 * time.Second, want: active, why: "a retry is due"},
		"a local retry just due":     {next: -time.Second, want: active, why: "a retry is due"},
		"a retry that is long past":  {next: -time.Minute, want: waiting},
		"a workflow task and a wait": {task: task, next: time.Hour, want: active, why: "a workflow task is pending"},
	} {
		t.Run(name, func(t *testing.T) {
			if c.status == enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED {
				c.status = enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING
			}
			known := store.OpenRun{}
			if c.next != 0 {
				known.NextAttemptAt = now.Add(c.next)
			}
			got, why := judge(&workflowservice.DescribeWorkflowExecutionResponse{
				WorkflowExecutionInfo: &workflowpb.WorkflowExecutionInfo{Status: c.status},
				PendingWorkflowTask:   c.task, PendingActivities: c.calls,
			}, known, now)
			require.Equal(t, c.want, got)
			if c.why == "" {
				require.Empty(t, why)
			}
			require.Contains(t, why, c.why)
		})
	}
}

func TestAReportIsALineForPeople(t *testing.T) {
	t.Parallel()
	require.Equal(t, "nothing is left", Report{}.String())
	require.Equal(t, "2 outbox rows are due; 1 outbox row needs a person (taken); 1 outbox row comes due later; run a:b:c could go on: x; "+
		"3 runs wait for a signal or a timer; 1 run waits for a later retry",
		Report{Outbox: store.OutboxDue{Due: 2, Stuck: 1, Alert: "taken", Later: 1}, Active: "a:b:c", Why: "x", Waiting: 3, Retrying: 1}.String())
}
