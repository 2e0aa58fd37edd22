package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/logistics"
)

// ShipmentDepotArrival records that a shipment arrived at a depot.
func ShipmentDepotArrival(ctx workflow.Context, ref oncehook.Ref) error {
	_, err := logistics.RecordArrival.Do(ctx, logistics.Arrival{})
	return err
}
