package reconcile_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/tests/harness"
)

func TestTheReceiptTellsTheTruthWithinAMinuteWhateverHappensToTheRun(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: true})
	p := s.Serve()
	temporal := s.Temporal.Client()

	// Before there is a worker: a run that will time out, and starts that got lost.
	timed := post(t, s, p, harness.WaitingType, "timed-out")
	_, err := temporal.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID: timed.key, TaskQueue: oncehook.TaskQueue, WorkflowRunTimeout: 10 * time.Second,
		Memo: map[string]any{oncehook.MemoReceiptID: timed.receipt.String(), oncehook.MemoRunNo: 1, oncehook.MemoCorrelationID: timed.correlated},
	}, harness.WaitingType, oncehook.Ref{ReceiptID: timed.receipt.String(), EventKey: timed.key, CorrelationID: timed.correlated, RunNo: 1})
	require.NoError(t, err)
	orphan := post(t, s, p, harness.TwoAttemptsType, "no-outbox-row")
	s.Exec(`DELETE FROM oncehook.outbox WHERE receipt_id = $1`, orphan.receipt)
	stuck := post(t, s, p, harness.TwoAttemptsType, "stuck-lease")
	s.Exec(`UPDATE oncehook.outbox SET lease_until = now() + interval '1 day', claims = 1 WHERE receipt_id = $1`, stuck.receipt)

	s.Work()
	t.Run("it timed out", func(t *testing.T) {
		t.Parallel()
		timed.started(t)
		timed.is(t, 10*time.Second+promise, "dead_lettered", "timed_out")
	})
	t.Run("it was accepted and has no start", func(t *testing.T) {
		t.Parallel()
		orphan.is(t, promise, "succeeded", "finished")
	})
	t.Run("its start is leased for ever", func(t *testing.T) {
		t.Parallel()
		stuck.is(t, promise, "succeeded", "finished")
	})

	// A failover of the database that lost the last commits: of one run the end, of
	// the other its effect as well.
	endless, effectless := post(t, s, p, harness.TwoAttemptsType, "lost-end"), post(t, s, p, harness.TwoAttemptsType, "lost-effect")
	for _, e := range []event{endless, effectless} {
		e.is(t, promise, "succeeded", "finished")
		s.Eventually(1, promise, `SELECT count(*) FROM oncehook.outbox WHERE receipt_id = $1 AND dispatched_at IS NOT NULL`, e.receipt)
		s.Exec(fmt.Sprintf(`SET LOCAL session_replication_role = replica;
			DELETE FROM oncehook.receipt_history WHERE receipt_id = '%[1]s' AND to_state = 'succeeded';
			UPDATE oncehook.receipts SET state = 'processing', cause = 'first_action', version = version - 1 WHERE id = '%[1]s'`, e.receipt))
	}
	s.Exec(`DELETE FROM oncehook.actions WHERE receipt_id = $1`, effectless.receipt)
	t.Run("it completed and its end is not in the database", func(t *testing.T) {
		t.Parallel()
		endless.is(t, promise, "succeeded", "finished")
		require.Equal(t, "the run completed and recorded no end", endless.detail())
	})
	t.Run("it completed and its effect is not in the database", func(t *testing.T) {
		t.Parallel()
		effectless.is(t, promise, "dead_lettered", "run_lost")
		require.Contains(t, effectless.detail(), "the database does not have the effects of logistics.record_arrival")
	})

	waiting := post(t, s, p, harness.WaitingType, "terminated-waiting")
	retrying := post(t, s, p, harness.RetryingType, "terminated-retrying")
	cancelled := post(t, s, p, harness.RetryingType, "cancelled")
	bad := post(t, s, p, harness.WaitingType, "bad-row")
	deleted := post(t, s, p, harness.WaitingType, "deleted")
	forgotten := post(t, s, p, harness.WaitingType, "forgotten")
	healthy := post(t, s, p, harness.WaitingType, "healthy")
	for _, e := range []event{waiting, retrying, cancelled, bad, deleted, forgotten, healthy} {
		e.started(t)
	}
	s.Eventually(2, promise, `SELECT count(*) FROM oncehook.actions WHERE state = 'running' AND last_error IS NOT NULL`)
	s.Exec(fmt.Sprintf(`CREATE FUNCTION public.bad_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'bad row'; END $$;
		CREATE TRIGGER bad_row BEFORE UPDATE ON oncehook.receipts FOR EACH ROW WHEN (NEW.id = '%s') EXECUTE FUNCTION public.bad_row()`, bad.receipt))
	require.NoError(t, temporal.TerminateWorkflow(t.Context(), bad.key, "", "bad"))
	for _, e := range []event{waiting, retrying} {
		require.NoError(t, temporal.TerminateWorkflow(t.Context(), e.key, "", "an operator's reason"))
	}
	require.NoError(t, temporal.CancelWorkflow(t.Context(), cancelled.key, ""))
	s.Exec(`UPDATE oncehook.outbox SET dispatched_at = dispatched_at - interval '40 days' WHERE receipt_id = $1`, forgotten.receipt)
	for _, e := range []event{deleted, forgotten} {
		_, err := temporal.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
			Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: e.key},
		})
		require.NoError(t, err)
	}

	t.Run("it was terminated before its first action", func(t *testing.T) {
		t.Parallel()
		waiting.is(t, promise, "dead_lettered", "terminated")
		require.Contains(t, waiting.detail(), "an operator's reason")
	})
	t.Run("it was terminated between two attempts", func(t *testing.T) {
		t.Parallel()
		retrying.is(t, promise, "dead_lettered", "terminated")
		require.Equal(t, "failed run_ended", retrying.text(`SELECT state || ' ' || outcome FROM oncehook.actions WHERE receipt_id = $1`))
	})
	t.Run("it was cancelled", func(t *testing.T) {
		t.Parallel()
		cancelled.is(t, promise, "dead_lettered", "cancelled")
	})
	t.Run("the database refuses to settle it, and the others are settled", func(t *testing.T) {
		t.Parallel()
		waiting.is(t, promise, "dead_lettered", "terminated")
		retrying.is(t, promise, "dead_lettered", "terminated")
		require.Equal(t, "queued", bad.text(`SELECT state FROM oncehook.receipts WHERE id = $1`))
		s.Exec(`DROP TRIGGER bad_row ON oncehook.receipts`)
		bad.is(t, promise, "dead_lettered", "terminated")
	})
	t.Run("it was deleted", func(t *testing.T) {
		t.Parallel()
		s.Eventually(1, recovery, `SELECT count(*) FROM oncehook.outbox WHERE receipt_id = $1 AND reopened > 0 AND dispatched_at IS NOT NULL AND run_id IS NOT NULL`, deleted.receipt)
		require.Eventually(t, func() bool {
			return temporal.SignalWorkflow(t.Context(), deleted.key, "", harness.WaitingSignal, nil) == nil
		}, recovery, time.Second)
		deleted.is(t, recovery, "succeeded", "finished")
		require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.actions WHERE receipt_id = $1 AND state = 'done'`, deleted.receipt))
	})
	t.Run("it was deleted and may have ended before", func(t *testing.T) {
		t.Parallel()
		forgotten.is(t, recovery, "dead_lettered", "run_lost")
		require.Contains(t, forgotten.detail(), "the namespace forgets closed runs after ")
	})
	t.Run("nothing happened to it", func(t *testing.T) {
		t.Parallel()
		waiting.is(t, promise, "dead_lettered", "terminated")
		require.Equal(t, "queued", healthy.text(`SELECT state FROM oncehook.receipts WHERE id = $1`))
		require.NoError(t, temporal.SignalWorkflow(t.Context(), healthy.key, "", harness.WaitingSignal, nil))
		healthy.is(t, promise, "succeeded", "finished")
	})
}
