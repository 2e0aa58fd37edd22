package reconcile_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestAnEffectThatCommitsWhileItsRunIsTerminatedIsShownBesideTheDeadLetter(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Parameters: map[string]string{
		"lock_timeout": "60s", "statement_timeout": "90s", "idle_in_transaction_session_timeout": "90s",
	}})
	p := s.Serve()
	temporal := s.Temporal.Client()
	s.Work()
	effect := s.Barrier("INSERT", "logistics.shipment_transitions", "", false)
	a := post(t, s, p, harness.TwoAttemptsType, "acting")
	effect.Reached(1)
	require.NoError(t, temporal.TerminateWorkflow(t.Context(), a.key, "", "while it acts"))
	s.Eventually(1, promise, `SELECT least(count(*), 1) FROM pg_locks l JOIN pg_stat_activity q USING (pid)
		WHERE NOT l.granted AND l.locktype IN ('transactionid', 'tuple') AND q.query LIKE '%run_ended%'`)
	require.Equal(t, "processing", a.text(`SELECT state FROM oncehook.receipts WHERE id = $1`), "nothing is concluded while it acts")
	effect.Release()
	a.is(t, promise, "dead_lettered", "terminated")
	require.Equal(t, 1, s.Count(transitions))
	require.Equal(t, "done", a.text(`SELECT state FROM oncehook.actions WHERE receipt_id = $1`))
}

func TestNothingIsConcludedWhileTemporalIsAway(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	p := s.Serve()
	worker := s.Work()
	var waiting []event
	for _, id := range harness.IDs("waiting", 5) {
		waiting = append(waiting, post(t, s, p, harness.WaitingType, id))
	}
	for _, e := range waiting {
		e.started(t)
	}
	s.Temporal.Kill()
	require.Eventually(t, func() bool { return strings.Count(worker.Log(), `"kind":"listing"`) >= 2 }, recovery, 100*time.Millisecond,
		"two sweeps found nobody to ask")
	require.Equal(t, 5, s.Count(`SELECT count(*) FROM oncehook.receipts WHERE state = 'queued'`))
	require.Zero(t, s.Count(`SELECT count(*) FROM oncehook.outbox WHERE reopened > 0`))
	s.Temporal.Start()
	temporal := s.Temporal.Client()
	for _, e := range waiting {
		require.Eventually(t, func() bool {
			return temporal.SignalWorkflow(t.Context(), e.key, "", harness.WaitingSignal, nil) == nil
		}, promise, time.Second)
	}
	s.Succeeded(5, recovery)
	require.Equal(t, 5, s.Count(`SELECT count(*) FROM oncehook.actions WHERE state = 'done'`))
}
