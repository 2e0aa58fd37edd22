package reconcile

import (
	"bytes"
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook"
)

func TestTheActionsOfARunAreReadFromItsHistoryInBothShapes(t *testing.T) {
	for _, shape := range []string{"local", "regular"} {
		t.Run(shape, func(t *testing.T) {
			recorded, err := os.ReadFile("../../workflows/testdata/shipment_depot_arrival-1-" + shape + "-succeeded.json")
			require.NoError(t, err)
			history, err := client.HistoryFromJSON(bytes.NewReader(recorded), client.HistoryJSONOptions{})
			require.NoError(t, err)
			s := &sweep{Reconciler: New(Config{})}
			var called []string
			for _, event := range history.GetEvents() {
				name, err := s.called(event)
				require.NoError(t, err)
				if name != "" {
					called = append(called, name)
				}
			}
			require.Equal(t, []string{"logistics.record_arrival", oncehook.ActionFinish}, slices.Compact(called))
		})
	}
}
