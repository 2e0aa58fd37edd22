package workflows_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func TestArrivalsOnARealServerEndAsSaidAndReplay(t *testing.T) {
	inBothShapes(t, "ShipmentDepotArrival", "shipment_depot_arrival", func(t *testing.T, s *scene) {
		noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
		arrival := func(id, depot string, at time.Time) storetest.Event {
			return storetest.Event{ID: id, OccurredAt: at, Body: `{"shipment_id":"shipment-1","depot_id":"` + depot + `"}`}
		}
		s.check(t, "succeeded", arrival("event-1", "a", noon), oncehook.StateSucceeded, "finished")
		s.check(t, "superseded", arrival("event-2", "b", noon.Add(-time.Hour)), oncehook.StateIgnored, "superseded")
		s.check(t, "permanent", storetest.Event{ID: "event-3", Body: `{}`}, oncehook.StateDeadLettered, "permanent")
		require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM logistics.shipment_transitions`))

		// The table is away for the first attempts.
		_, err := s.DB.Exec(t.Context(), `ALTER TABLE logistics.shipments RENAME TO elsewhere`)
		require.NoError(t, err)
		back := make(chan error, 1)
		go func() {
			for {
				var failed int
				err := s.DB.QueryRow(context.Background(), `SELECT count(*) FROM oncehook.actions WHERE last_error IS NOT NULL AND state = 'running'`).Scan(&failed)
				if err == nil && failed > 0 {
					_, err = s.DB.Exec(context.Background(), `ALTER TABLE logistics.elsewhere RENAME TO shipments`)
					back <- err
					return
				}
				if err != nil {
					back <- err
					return
				}
			}
		}()
		s.check(t, "retried", arrival("event-4", "c", noon.Add(time.Hour)), oncehook.StateSucceeded, "finished")
		require.NoError(t, <-back)
		require.Equal(t, 2, s.Count(t, `SELECT count(*) FROM logistics.shipment_transitions`))
	})
}
