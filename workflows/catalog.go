// Package workflows holds one workflow per file, in plain Temporal Go, and the
// catalog of which event starts which.
//
// A workflow does no I/O and does not read the clock. It takes an oncehook.Ref
// and calls actions by their handles; the rest is the effect package's.
package workflows

import (
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
)

// Names of the workflow types, as histories and the outbox store them.
const nameShipmentDepotArrival = "ShipmentDepotArrival"

// Catalog lists which event starts which workflow. An event without one ends
// ignored.
func Catalog() oncehook.Routes {
	return oncehook.Routes{
		{Provider: "bearer", Type: "shipment.depot_arrival", Workflow: nameShipmentDepotArrival},
	}
}

// Register registers every workflow of the catalog under its name.
func Register(w worker.WorkflowRegistry) {
	w.RegisterWorkflowWithOptions(ShipmentDepotArrival, workflow.RegisterOptions{Name: nameShipmentDepotArrival})
}
