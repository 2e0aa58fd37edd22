package rolling_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestStopsThatInterruptAnActionMoreOftenThanItMayBeTriedDoNotExhaustIt(t *testing.T) {
	t.Parallel()
	shapes(t, func(t *testing.T, regular bool) {
		s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: regular})
		barrier := s.Barrier("INSERT", "logistics.shipment_transitions", "", false)
		s.Serve().Post("acme", harness.AcmeToken, harness.EventOf(harness.TwoAttemptsType, "e")).Is(t, http.StatusAccepted, "accepted")
		const deployments = 3
		for n := range deployments {
			work := s.Work()
			barrier.Reached(1)
			work.Stop()
			require.Equal(t, n+1, s.Count(`SELECT attempts FROM oncehook.actions`), "every attempt is in the evidence")
			require.Zero(t, s.Count(`SELECT run_attempts FROM oncehook.actions`), work.Log())
			require.Equal(t, "running", s.Text(`SELECT state FROM oncehook.actions WHERE lease_until IS NULL`))
		}
		barrier.Release()
		s.Work()
		s.Succeeded(1, recovery)
		require.Equal(t, 1, s.Count(transitions))
	})
}

func TestStopsThatCutARemoteCallOffDoNotExhaustIt(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	downstream := s.Downstream()
	s.Serve().Post("acme", harness.AcmeToken, harness.EventOf(harness.TwoSendsType, "e")).Is(t, http.StatusAccepted, "accepted")
	const deployments = 3
	for n := range deployments {
		held := downstream.Hold(harness.BeforeAnswer)
		work := s.Work()
		held.Reached()
		work.Stop()
		held.Release()
		require.Equal(t, n+1, downstream.Calls())
		require.Zero(t, s.Count(`SELECT run_attempts FROM oncehook.actions WHERE unanswered AND lease_until IS NULL`), work.Log())
	}
	s.Work()
	s.Succeeded(1, recovery)
	require.Equal(t, deployments+1, downstream.Calls())
	require.Equal(t, 1, downstream.Effects(), "each call had the same key")
	require.Equal(t, deployments+1, s.Count(`SELECT attempts FROM oncehook.actions WHERE state = 'done' AND run_attempts = 1 AND NOT unanswered`))
}

func TestAKilledWorkersAttemptCounts(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	barrier := s.Barrier("INSERT", "logistics.shipment_transitions", "", false)
	s.Serve().Post("acme", harness.AcmeToken, harness.EventOf(harness.TwoAttemptsType, "e")).Is(t, http.StatusAccepted, "accepted")
	for range 2 {
		work := s.Work()
		barrier.Reached(1)
		work.Kill()
		barrier.Abort()
		barrier.Reached(0)
	}
	require.Equal(t, 2, s.Count(`SELECT run_attempts FROM oncehook.actions`))
	barrier.Release()
	s.Work()
	s.Eventually(1, recovery, `SELECT count(*) FROM oncehook.receipts WHERE state = 'dead_lettered' AND cause = 'retries_exhausted'`)
	require.Zero(t, s.Count(transitions))
}
