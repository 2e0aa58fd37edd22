package reconcile_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestAReconcilerKilledWhileItWritesIsFollowedByAnother(t *testing.T) {
	for name, c := range map[string]struct {
		event, table, when string
		deferred           bool
	}{
		"at the commit of an end":                  {"UPDATE", "oncehook.receipts", "NEW.state = 'dead_lettered'", true},
		"inside the transaction of a new start":    {"UPDATE", "oncehook.outbox", "NEW.reopened > OLD.reopened", false},
		"between the new start and its own record": {"UPDATE", "oncehook.outbox", "NEW.reopened > 0 AND NEW.dispatched_at IS NOT NULL AND OLD.dispatched_at IS NULL", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel() // mostly waits for leases
			s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Parameters: map[string]string{
				"lock_timeout": "120s", "statement_timeout": "150s", "idle_in_transaction_session_timeout": "150s",
			}})
			p := s.Serve()
			temporal := s.Temporal.Client()
			doomed := s.Work()
			terminated, lost := post(t, s, p, harness.WaitingType, "terminated"), post(t, s, p, harness.WaitingType, "lost")
			terminated.started(t)
			lost.started(t)
			barrier := s.Barrier(c.event, c.table, c.when, c.deferred)
			require.NoError(t, temporal.TerminateWorkflow(t.Context(), terminated.key, "", "test"))
			_, err := temporal.WorkflowService().DeleteWorkflowExecution(t.Context(), &workflowservice.DeleteWorkflowExecutionRequest{
				Namespace: client.DefaultNamespace, WorkflowExecution: &commonpb.WorkflowExecution{WorkflowId: lost.key},
			})
			require.NoError(t, err)
			barrier.Reached(1)
			doomed.Kill()
			barrier.Abort()
			barrier.Release()
			s.Work()
			terminated.is(t, recovery, "dead_lettered", "terminated")
			require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.receipt_history WHERE receipt_id = $1 AND to_state = 'dead_lettered'`, terminated.receipt))
			s.Eventually(1, recovery, `SELECT count(*) FROM oncehook.outbox WHERE receipt_id = $1 AND reopened > 0 AND dispatched_at IS NOT NULL AND run_id IS NOT NULL`, lost.receipt)
			require.NoError(t, temporal.SignalWorkflow(t.Context(), lost.key, "", harness.WaitingSignal, nil))
			lost.is(t, recovery, "succeeded", "finished")
			require.Equal(t, 1, s.Count(transitions))
		})
	}
}
