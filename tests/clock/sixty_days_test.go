package clock_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestSixtyDaysLaterEventsAreAcceptedAndWhatIsUnresolvedIsKept(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	temporal := s.Temporal.Client()
	yesterday, worker := s.Serve(), s.Work()
	logistics := func(p *harness.Process, id string) harness.Answer {
		return p.Post("logistics", harness.LogisticsToken, harness.Event(id))
	}
	acme := func(id string) harness.Answer {
		return yesterday.Post("acme", harness.AcmeToken, harness.EventOf(harness.WaitingType, id)).Is(t, http.StatusAccepted, "accepted")
	}
	logistics(yesterday, "done").Is(t, http.StatusAccepted, "accepted")
	logistics(yesterday, "disputed").Is(t, http.StatusAccepted, "accepted")
	s.Succeeded(2, recovery)
	yesterday.Post("logistics", harness.LogisticsToken, harness.Arrival("disputed", "logistics-sandbox", "shipment-of-disputed", "depot-2", "")).
		Is(t, http.StatusConflict, "event_conflict")
	waiting, dead := acme("waiting"), acme("dead")
	s.Eventually(2, time.Minute, `SELECT count(*) FROM oncehook.outbox WHERE run_id IS NOT NULL AND receipt_id = ANY ($1)`,
		[]string{waiting.ReceiptID, dead.ReceiptID})
	require.NoError(t, temporal.TerminateWorkflow(t.Context(), dead.EventKey, "", "test"))
	s.Eventually(1, time.Minute, `SELECT count(*) FROM oncehook.receipts WHERE state = 'dead_lettered'`)
	yesterday.Stop()
	worker.Stop()

	const ahead = 60 * day
	s.WorkAt(ahead)
	p := s.ServeAt(ahead)
	logistics(p, "new").Is(t, http.StatusAccepted, "accepted")
	logistics(p, "done").Is(t, http.StatusOK, "duplicate")
	s.Succeeded(3, recovery)

	s.RetentionAt(ahead).Done()
	pinned := s.Text(`SELECT r.event_id || CASE WHEN c.delivery_id IS NULL THEN '' ELSE ' copy' END FROM oncehook.payloads_pinned p
		LEFT JOIN oncehook.conflicts c USING (delivery_id) JOIN oncehook.receipts r ON r.id = coalesce(c.receipt_id, p.delivery_id) ORDER BY 1`)
	require.Equal(t, "dead\ndisputed\ndisputed copy\nwaiting", pinned)
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.payloads`), "the new one's")
	require.Zero(t, s.Count(`SELECT count(*) FROM oncehook.outbox o JOIN oncehook.receipts r ON r.id = o.receipt_id
		WHERE r.event_id IN ('done', 'dead')`))

	// What waited reads its body, which is pinned; keys hold; new days take events.
	require.NoError(t, temporal.SignalWorkflow(t.Context(), waiting.EventKey, "", harness.WaitingSignal, nil))
	s.Succeeded(4, recovery)
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM logistics.shipments WHERE shipment_id = 'shipment-of-waiting'`))
	logistics(p, "done").Is(t, http.StatusOK, "duplicate")
	logistics(p, "newer").Is(t, http.StatusAccepted, "accepted")
	require.NotEmpty(t, s.Text(`SELECT run_id FROM oncehook.receipts WHERE event_id = 'done'`), "its run can still be looked up")
}

func TestAWorkerKilledWhileItMakesPartitionsIsFollowedByAnother(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Parameters: map[string]string{
		"lock_timeout": "60s", "statement_timeout": "90s",
	}})
	barrier := barrierBefore(s, "CREATE TABLE")
	const ahead = 20 * day
	doomed := s.BeginWorkAt(ahead)
	barrier.reached()
	doomed.Kill()
	barrier.clear()
	p := s.ServeAt(ahead)
	p.Post("logistics", harness.LogisticsToken, harness.Event("early")).Is(t, http.StatusServiceUnavailable, "unavailable")
	s.WorkAt(ahead)
	require.Eventually(t, func() bool {
		return p.Post("logistics", harness.LogisticsToken, harness.Event("early")).Status == http.StatusAccepted
	}, time.Minute, 100*time.Millisecond)
	s.Succeeded(1, recovery)
	require.Equal(t, 5*16, s.Count(`SELECT count(*) FROM pg_class WHERE relnamespace = 'oncehook'::regnamespace AND relkind = 'r'
		AND relname ~ '_[0-9]{8}$' AND right(relname, 8)::date >= (now() + interval '19 days')::date`))
}
