package reconcile

import (
	"context"
	"errors"
	"fmt"
	"time"

	commonpb "go.temporal.io/api/common/v1"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// A run that Temporal does not know although its start was recorded is started
// again, with the same run number and request id: it can have no second effect,
// since whatever the lost run did is in the action ledger, and two live runs of
// one number share its fences. Two things end that. A run that is lost over and
// over is somebody's doing. And a run that was started longer ago than the
// namespace keeps closed ones may have been closed by a person and then
// forgotten: starting it would undo a decision that nobody can read any more.
// Both become dead letters, which an operator can replay.
const (
	maxReopens  = 3
	reopenDelay = 30 * time.Second // times the losses before: Temporal frees a deleted run's id after a while
)

// fate is what Temporal says of a run.
type fate struct {
	lost   bool
	status enumspb.WorkflowExecutionStatus
	runID  string
}

// compare asks Temporal about the receipt's run and settles what differs. Its
// error ends the walk.
func (s *sweep) compare(ctx context.Context, row store.OpenReceipt) error {
	if s.looks <= 0 || s.away >= mostAway {
		return errEnough
	}
	s.looks--
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(lookEvery):
	}
	found, err := s.look(ctx, row)
	if err != nil {
		if !errors.Is(err, errMemo) {
			s.away++
		}
		s.partial = true
		s.failed(ctx, kindClosed, err, "receipt_id", row.ID)
		return ctx.Err()
	}
	s.away = 0
	switch {
	case found.lost:
		s.Metrics.Found(ctx, kindLost)
		s.settleLost(ctx, row)
	case isClosed(found.status):
		s.Metrics.Found(ctx, kindClosed)
		s.settleClosed(ctx, row, found)
	}
	return ctx.Err()
}

func isClosed(status enumspb.WorkflowExecutionStatus) bool {
	switch status {
	case enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, enumspb.WORKFLOW_EXECUTION_STATUS_FAILED,
		enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED, enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED,
		enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT:
		return true
	case enumspb.WORKFLOW_EXECUTION_STATUS_UNSPECIFIED, enumspb.WORKFLOW_EXECUTION_STATUS_RUNNING, enumspb.WORKFLOW_EXECUTION_STATUS_PAUSED,
		enumspb.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW: // the next one is about to be the latest
	}
	return false
}

// look finds the receipt's run: the workflow ID's latest one whose memo names
// this receipt and run number, which follows resets and continuations, else the
// one whose id was recorded at the start.
func (s *sweep) look(ctx context.Context, row store.OpenReceipt) (fate, error) {
	ids := []string{""}
	if row.RunID != "" {
		ids = append(ids, row.RunID)
	}
	for _, runID := range ids {
		d, err := s.describe(ctx, row.Key, runID)
		if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
			continue
		}
		if err != nil {
			return fate{}, fmt.Errorf("describe the run: %w", err)
		}
		receiptID, runNo, err := s.memo(d.Memo)
		if err != nil {
			return fate{}, err
		}
		if receiptID == row.ID.String() && runNo == row.RunNo {
			return fate{status: d.Status, runID: d.WorkflowExecution.RunID}, nil
		}
	}
	return fate{lost: true}, nil
}

func (s *sweep) describe(ctx context.Context, workflowID, runID string) (*client.WorkflowExecutionDescription, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	return s.Client.DescribeWorkflow(ctx, workflowID, runID)
}

// errMemo says that a memo cannot be read, as when a codec's key is missing:
// nothing is known then about whose run it is.
var errMemo = errors.New("the run's memo cannot be read")

// memo returns whose run it is; "" when it is not oncehook's.
func (r *Reconciler) memo(memo *commonpb.Memo) (receiptID string, runNo int, err error) {
	fields := memo.GetFields()
	id, number := fields[oncehook.MemoReceiptID], fields[oncehook.MemoRunNo]
	if id == nil || number == nil {
		return "", 0, nil
	}
	if err := errors.Join(r.DataConverter.FromPayload(id, &receiptID), r.DataConverter.FromPayload(number, &runNo)); err != nil {
		return "", 0, fmt.Errorf("%w: %w", errMemo, err)
	}
	return receiptID, runNo, nil
}

// settleLost starts the run again or gives it up.
func (s *sweep) settleLost(ctx context.Context, row store.OpenReceipt) {
	why, err := s.hopeless(ctx, row)
	switch {
	case err != nil:
		s.partial = true
		s.failed(ctx, kindLost, err, "receipt_id", row.ID)
	case why != "":
		s.close(ctx, kindLost, row, store.Finish{State: oncehook.StateDeadLettered, Cause: oncehook.CauseRunLost, Detail: why})
	default:
		s.reopen(ctx, row, kindLost, time.Duration(row.Reopened)*reopenDelay, "temporal does not know the run")
	}
}

// hopeless says why a lost run is not started again, or "".
func (s *sweep) hopeless(ctx context.Context, row store.OpenReceipt) (string, error) {
	if row.Reopened >= maxReopens {
		return fmt.Sprintf("temporal lost the run %d times", row.Reopened+1), nil
	}
	started := row.DispatchedAt
	if !row.Row {
		started = row.Cursor.At // the row is gone; it was dispatched no later than that
	}
	keeps, err := s.retention.read(ctx, s.Client, s.Namespace)
	if err != nil {
		return "", err
	}
	if s.Now().Sub(started) >= keeps {
		return fmt.Sprintf("temporal does not know the run, which was started at %s; the namespace forgets closed runs after %s",
			started.UTC().Format(time.RFC3339), keeps), nil
	}
	return "", nil
}

// settleClosed writes the end that the run really had.
func (s *sweep) settleClosed(ctx context.Context, row store.OpenReceipt, found fate) {
	end, err := s.end(ctx, row, found)
	if err != nil {
		s.partial = true
		s.failed(ctx, kindClosed, err, "receipt_id", row.ID)
		return
	}
	s.close(ctx, kindClosed, row, end)
}

func (s *sweep) close(ctx context.Context, kind string, row store.OpenReceipt, end store.Finish) {
	end.ReceiptID, end.RunNo = row.ID, row.RunNo
	found, err := s.Store.CloseRun(ctx, end)
	if err != nil {
		s.failed(ctx, kind, err, "receipt_id", row.ID)
		return
	}
	if found == store.FinishWritten {
		s.Metrics.Repaired(ctx, kind, string(end.State))
		s.Log.WarnContext(ctx, "the receipt got the end that its run had", "kind", kind, "receipt_id", row.ID, "run_no", row.RunNo,
			"state", string(end.State), "cause", end.Cause)
	}
}
