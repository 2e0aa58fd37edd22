package crash_test

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestAKilledWorkProcessNeitherLosesNorRepeats(t *testing.T) {
	cases := []struct {
		name     string
		event    string
		table    string
		when     string
		deferred bool
	}{
		{"the dispatcher between Temporal's start and its mark", "UPDATE", "oncehook.outbox", "NEW.dispatched_at IS NOT NULL AND OLD.dispatched_at IS NULL", false},
		{"the dispatcher at the commit of its claim", "UPDATE", "oncehook.receipts", "NEW.state = 'queued'", true},
		{"the worker inside the Local transaction", "INSERT", "logistics.shipment_transitions", "", false},
		{"the worker at the Local transaction's commit", "INSERT", "logistics.shipment_transitions", "", true},
		{"the worker after the Local transaction's commit", "UPDATE", "oncehook.receipts", "NEW.state = 'succeeded'", false},
	}
	for _, shape := range []struct {
		name    string
		regular bool
	}{{"local activities", false}, {"regular activities", true}} {
		for _, c := range cases {
			t.Run(c.name+", "+shape.name, func(t *testing.T) {
				t.Parallel() // mostly waits for leases and timeouts to run out
				s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: shape.regular})
				p := s.Serve()
				barrier := s.Barrier(c.event, c.table, c.when, c.deferred)
				doomed := s.Work()
				a := p.Post("logistics", harness.LogisticsToken, harness.Event("e")).Is(t, http.StatusAccepted, "accepted")
				barrier.Reached(1)
				doomed.Kill()
				// What a dead client's backend still holds ends with it.
				barrier.Abort()
				barrier.Release()
				s.Work()
				s.Succeeded(1, recovery)
				require.Equal(t, 1, s.Count(transitions))
				require.Equal(t, 1, s.Temporal.Runs(a.EventKey))
				require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.actions WHERE state = 'done'`))
				p.Post("logistics", harness.LogisticsToken, harness.Event("e")).Is(t, http.StatusOK, "duplicate")
			})
		}
	}
}
