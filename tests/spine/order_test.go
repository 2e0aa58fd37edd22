package spine_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestAnOlderObservationIsSupersededAndSaysSo(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	p := s.Serve()
	s.Work()
	ended := 0
	arrive := func(id, depot, occurredAt string) string {
		t.Helper()
		a := p.Post("logistics", harness.LogisticsToken, harness.Arrival(id, "logistics-sandbox", "shipment-1", depot, occurredAt)).Is(t, http.StatusAccepted, "accepted")
		ended++
		s.Eventually(ended, time.Minute, `SELECT count(*) FROM oncehook.receipts WHERE state IN ('succeeded', 'ignored')`)
		return a.ReceiptID
	}
	depot := func() string {
		return s.Text(`SELECT depot_id FROM logistics.shipments WHERE tenant = 'logistics-sandbox' AND shipment_id = 'shipment-1'`)
	}
	state := func(receipt string) string {
		return s.Text(`SELECT state || ' ' || cause FROM oncehook.receipts WHERE id = $1`, receipt)
	}

	require.Equal(t, "succeeded finished", state(arrive("new", "depot-new", "2026-11-30T12:00:00Z")))
	old := arrive("old", "depot-old", "2026-11-30T11:00:00Z")
	require.Equal(t, "ignored superseded", state(old))
	require.Equal(t, "superseded", s.Text(`SELECT state FROM oncehook.actions WHERE receipt_id = $1`, old))
	require.Equal(t, "depot-new", depot())
	require.Equal(t, 1, s.Count(transitions), "a superseded observation changes nothing")

	arrive("equal", "depot-equal", "2026-11-30T12:00:00Z")
	require.Equal(t, "depot-equal", depot(), "an equal time applies")

	arrive("absent", "depot-absent", "")
	require.Equal(t, "depot-absent", depot(), "without a time the order of receipts decides")

	// Another tenant's shipment of the same id is another shipment.
	p.Post("logistics", harness.LogisticsToken, harness.Arrival("new", "logistics-north", "shipment-1", "depot-north", "2020-01-01T00:00:00Z")).Is(t, http.StatusAccepted, "accepted")
	s.Eventually(1, time.Minute, `SELECT count(*) FROM logistics.shipments WHERE tenant = 'logistics-north' AND depot_id = 'depot-north'`)
	require.Equal(t, "depot-absent", depot())

	a := p.Post("logistics", harness.LogisticsToken, harness.Arrival("new", "logistics-sandbox", "shipment-1", "depot-changed", "2026-11-30T12:00:00Z"))
	a.Is(t, http.StatusConflict, "event_conflict")
	require.Equal(t, "depot-absent", depot())
}
