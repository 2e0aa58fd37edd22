package dispatch

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"go.temporal.io/api/serviceerror"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// Delays before a row is tried again.
const (
	retryFirst = 200 * time.Millisecond
	// retryMost keeps what piled up during an outage from coming back late.
	retryMost = 10 * time.Second
	// retryAlert is for rows that wait for a person.
	retryAlert = 30 * time.Second
	storeTime  = 5 * time.Second
)

// What an alert on a row says.
const (
	alertTaken         = "the workflow id is held by a run that is not this event's"
	alertConfiguration = "temporal refuses every start: check namespace, permissions and search attributes"
)

// start starts one claimed row and records what came of it.
func (d *Dispatcher) start(ctx context.Context, s store.Start) {
	ctx, end := d.observed(ctx, s)
	result, err := d.try(ctx, s)
	end(result)
	d.Metrics.Start(ctx, result)
	d.waited(ctx, s, result)
	if err != nil {
		d.Log.WarnContext(ctx, "a start is not recorded", "outbox_id", s.OutboxID, "receipt_id", s.Ref.ReceiptID, "result", result, "error", err.Error())
	}
}

// try returns what came of the start, and the error of recording it: the lease
// then brings the row back.
func (d *Dispatcher) try(ctx context.Context, s store.Start) (string, error) {
	startCtx, cancel := context.WithTimeout(ctx, d.StartTimeout)
	defer cancel()
	if s.Begun {
		// Known to have run; all that is missing is the mark.
		runID, ours, err := d.owner(startCtx, s, "")
		if err != nil || !ours {
			runID = "" // Temporal may have forgotten it
		}
		return "repeated", d.mark(ctx, s, runID)
	}
	run, err := d.Client.ExecuteWorkflow(withRequestID(startCtx, requestID(s)), startOptions(s, d.Eager), s.Workflow, s.Ref)
	if err == nil {
		d.recovered(ctx)
		return resultStarted, d.mark(ctx, s, run.GetRunID())
	}
	v := judge(err)
	switch v {
	case verdictTaken:
		d.recovered(ctx)
		return d.taken(ctx, startCtx, s, err)
	case verdictRefused:
		d.recovered(ctx)
		d.Log.ErrorContext(ctx, "temporal refuses a start", "receipt_id", s.Ref.ReceiptID, "error", err.Error())
		return string(v), d.refuse(ctx, s, err)
	case verdictConfiguration:
		if d.outage.set(v) {
			d.Log.ErrorContext(ctx, alertConfiguration, "error", err.Error())
		}
		return string(v), d.retry(ctx, s, fullJitter(retryMost), err, alertConfiguration)
	case verdictAway:
		if d.outage.set(v) {
			d.Log.WarnContext(ctx, "temporal does not answer; the outbox waits", "error", err.Error())
		}
	}
	return string(v), d.retry(ctx, s, delay(s.Claims), err, "")
}

func (d *Dispatcher) recovered(ctx context.Context) {
	if d.outage.set("") {
		d.Log.InfoContext(ctx, "temporal takes starts again")
		d.Wake()
	}
}

// taken settles a start whose workflow ID has a run. Only the run whose memo
// names this receipt and run is ours: an earlier try of this row.
func (d *Dispatcher) taken(ctx, startCtx context.Context, s store.Start, cause error) (string, error) {
	runID := ""
	if started, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](cause); ok {
		runID = started.RunId
	}
	runID, ours, err := d.owner(startCtx, s, runID)
	switch {
	case err != nil:
		return string(verdictAway), d.retry(ctx, s, delay(s.Claims), err, "")
	case ours:
		return "repeated", d.mark(ctx, s, runID)
	}
	d.Log.ErrorContext(ctx, alertTaken, "receipt_id", s.Ref.ReceiptID, "run_id", runID)
	return string(verdictTaken), d.retry(ctx, s, fullJitter(retryAlert), cause, alertTaken)
}

// owner reports whether the workflow ID's run belongs to the row, and its run ID.
func (d *Dispatcher) owner(ctx context.Context, s store.Start, runID string) (string, bool, error) {
	found, err := d.Client.DescribeWorkflow(ctx, s.Ref.EventKey, runID)
	if err != nil {
		return "", false, fmt.Errorf("describe the run that has the workflow id: %w", err)
	}
	var (
		receiptID string
		runNo     int
	)
	fields := found.Memo.GetFields()
	ours := d.DataConverter.FromPayload(fields[oncehook.MemoReceiptID], &receiptID) == nil && receiptID == s.Ref.ReceiptID &&
		d.DataConverter.FromPayload(fields[oncehook.MemoRunNo], &runNo) == nil && runNo == s.Ref.RunNo
	return found.WorkflowExecution.RunID, ours, nil
}

func (d *Dispatcher) mark(ctx context.Context, s store.Start, runID string) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return d.Store.MarkStarted(ctx, s.OutboxID, runID)
}

func (d *Dispatcher) retry(ctx context.Context, s store.Start, after time.Duration, cause error, alert string) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return d.Store.RetryStart(ctx, s.OutboxID, after, cause.Error(), alert)
}

func (d *Dispatcher) refuse(ctx context.Context, s store.Start, cause error) error {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return d.Store.RefuseStart(ctx, s.OutboxID, oncehook.CauseTemporalRefused, cause.Error())
}

// delay grows with the claims of a row, up to retryMost.
func delay(claims int) time.Duration {
	limit := retryMost
	if claims < 7 {
		limit = min(retryFirst<<max(claims-1, 0), retryMost)
	}
	return fullJitter(limit)
}

func fullJitter(limit time.Duration) time.Duration {
	return time.Duration(rand.Float64() * float64(limit)) //nolint:gosec // spreads load, guards nothing
}
