package rolling_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

// drainTime is more than any drain here takes.
const drainTime = 3 * time.Minute

func TestADrainDoesWhatIsDueAndCountsWhatWaits(t *testing.T) {
	t.Parallel()
	shapes(t, func(t *testing.T, regular bool) {
		s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: regular})
		p := s.Serve()
		for _, id := range harness.IDs("e", 40) {
			p.Post("logistics", harness.LogisticsToken, harness.Event(id)).Is(t, http.StatusAccepted, "accepted")
		}
		for eventType, n := range map[string]int{harness.WaitingType: 2, harness.RetryingType: 1} {
			for _, id := range harness.IDs(eventType, n) {
				p.Post("acme", harness.AcmeToken, harness.EventOf(eventType, id)).Is(t, http.StatusAccepted, "accepted")
			}
		}
		drain := s.Drain(drainTime)
		require.Zero(t, drain.Exit(drainTime+time.Minute), drain.Log())
		require.Contains(t, drain.Log(), "drained: 2 runs wait for a signal or a timer; 1 run waits for a later retry\n")
		require.Equal(t, 40, s.Count(`SELECT count(*) FROM oncehook.receipts WHERE state = 'succeeded'`))
		require.Zero(t, s.Count(`SELECT count(*) FROM oncehook.outbox WHERE dispatched_at IS NULL`))
		require.Equal(t, 40, s.Count(transitions))

		drain = s.Drain(drainTime)
		require.Zero(t, drain.Exit(drainTime), "what waits is not waited for again")
	})
}

func TestADrainThatCannotEndSaysWhatIsLeft(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	barrier := s.Barrier("INSERT", "logistics.shipment_transitions", "", false)
	a := s.Serve().Post("logistics", harness.LogisticsToken, harness.Event("e")).Is(t, http.StatusAccepted, "accepted")

	drain := s.Drain(5 * time.Second)
	barrier.Reached(1)
	require.Equal(t, 1, drain.Exit(time.Minute))
	require.Contains(t, drain.Log(), "not drained within 5s: run "+a.EventKey+" could go on: a workflow task is pending")

	drain = s.Drain(drainTime)
	barrier.Reached(1)
	drain.Terminate()
	require.Equal(t, 1, drain.Exit(time.Minute))
	require.Contains(t, drain.Log(), "stopped before it was drained")
	require.Zero(t, s.Count(`SELECT run_attempts FROM oncehook.actions`), "a drain that gives up burns no attempt")

	barrier.Release()
	drain = s.Drain(drainTime)
	require.Zero(t, drain.Exit(drainTime+time.Minute), drain.Log())
	require.Contains(t, drain.Log(), "drained: nothing is left\n")
	require.Equal(t, 1, s.Count(transitions))
}

func TestADrainDoesNotWaitForAPerson(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	p := s.Serve()
	taken := p.Post("logistics", harness.LogisticsToken, harness.Event("taken")).Is(t, http.StatusAccepted, "accepted")
	p.Post("logistics", harness.LogisticsToken, harness.Event("free")).Is(t, http.StatusAccepted, "accepted")
	require.NoError(t, s.Temporal.StartAgain(taken.EventKey), "a stranger's run has the workflow id")

	drain := s.Drain(drainTime)
	require.Equal(t, 1, drain.Exit(drainTime+time.Minute), drain.Log())
	require.Contains(t, drain.Log(), "not drained: 1 outbox row needs a person (the workflow id is held by a run that is not this event's)")
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.receipts WHERE state = 'succeeded'`))
}

func TestADrainGivesUpWhileTemporalIsAway(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.Options{})
	drain := s.Drain(time.Second)
	require.Equal(t, 1, drain.Exit(time.Minute))
	require.Contains(t, drain.Log(), fmt.Sprintf("not drained within %s: nothing could be seen", time.Second))
}
