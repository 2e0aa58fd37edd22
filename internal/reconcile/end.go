package reconcile

import (
	"context"
	"fmt"
	"slices"
	"strings"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// maxEvents bounds what is read of a completed run's history.
const maxEvents = 20_000

// end is what a closed run came to, which its own finish could not record.
func (s *sweep) end(ctx context.Context, row store.OpenReceipt, found fate) (store.Finish, error) {
	dead := func(cause, detail string) (store.Finish, error) {
		return store.Finish{State: oncehook.StateDeadLettered, Cause: cause, Detail: detail}, nil
	}
	switch found.status { //nolint:exhaustive // the others are not closed
	case enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED:
		return dead(oncehook.CauseTerminated, "the run was terminated"+s.terminatedBy(ctx, row.Key, found.runID))
	case enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return dead(oncehook.CauseTimedOut, "the run timed out")
	case enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED:
		return dead(oncehook.CauseCancelled, "the run was cancelled and recorded no end")
	case enumspb.WORKFLOW_EXECUTION_STATUS_FAILED:
		return dead(oncehook.CauseWorkflowFailed, "the run failed and recorded no end")
	default:
		return s.completed(ctx, row, found.runID)
	}
}

// terminatedBy says who ended the run and why, as far as Temporal tells.
func (s *sweep) terminatedBy(ctx context.Context, workflowID, runID string) string {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	events := s.Client.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return ""
		}
		if t := event.GetWorkflowExecutionTerminatedEventAttributes(); t != nil {
			text := ""
			if t.GetIdentity() != "" {
				text += " by " + t.GetIdentity()
			}
			if t.GetReason() != "" {
				text += ": " + t.GetReason()
			}
			return text
		}
	}
	return ""
}

// completed judges a run that completed although the receipt goes on: what its
// finish wrote is gone, as after a failover of PostgreSQL to a standby that was
// behind. It counts as what it says only if every effect that it reports is in
// the ledger; else a success would be presented that nobody can show.
func (s *sweep) completed(ctx context.Context, row store.OpenReceipt, runID string) (store.Finish, error) {
	called, err := s.calledActions(ctx, row.Key, runID)
	if err != nil {
		return store.Finish{}, err
	}
	ledger, err := s.Store.Ledger(ctx, row.ID)
	if err != nil {
		return store.Finish{}, err
	}
	called = slices.DeleteFunc(called, func(name string) bool { return ledger.Ended[name] })
	switch {
	case len(called) > 0:
		return store.Finish{
			State: oncehook.StateDeadLettered, Cause: oncehook.CauseRunLost,
			Detail: "the run completed, but the database does not have the effects of " + strings.Join(called, ", "),
		}, nil
	case ledger.Ignored:
		return store.Finish{State: oncehook.StateIgnored, Cause: oncehook.CauseIgnored, Detail: "the run completed and recorded no end"}, nil
	case ledger.Superseded:
		return store.Finish{State: oncehook.StateIgnored, Cause: oncehook.CauseSuperseded, Detail: "the run completed and recorded no end"}, nil
	}
	return store.Finish{State: oncehook.StateSucceeded, Cause: oncehook.CauseFinished, Detail: "the run completed and recorded no end"}, nil
}

// calledActions lists the actions that a run's history has, by name.
func (s *sweep) calledActions(ctx context.Context, workflowID, runID string) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	events := s.Client.GetWorkflowHistory(ctx, workflowID, runID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var names []string
	for n := 0; events.HasNext(); n++ {
		event, err := events.Next()
		if err != nil {
			return nil, fmt.Errorf("read the run's history: %w", err)
		}
		if n >= maxEvents {
			return nil, fmt.Errorf("the run's history is longer than %d events", maxEvents)
		}
		name, err := s.called(event)
		if err != nil {
			return nil, err
		}
		if name != "" && name != oncehook.ActionFinish && s.IsAction(name) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// called returns the activity that an event schedules, or the local activity
// whose end it records, or "".
func (s *sweep) called(event *historypb.HistoryEvent) (string, error) {
	if scheduled := event.GetActivityTaskScheduledEventAttributes(); scheduled != nil {
		return scheduled.GetActivityType().GetName(), nil
	}
	marker := event.GetMarkerRecordedEventAttributes()
	if marker.GetMarkerName() != "LocalActivity" {
		return "", nil
	}
	var data struct{ ActivityType string }
	if err := s.DataConverter.FromPayloads(marker.GetDetails()["data"], &data); err != nil {
		return "", fmt.Errorf("read a local activity's marker: %w", err)
	}
	return data.ActivityType, nil
}
