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

// entry is one line of the catalog.
type entry struct {
	// provider and eventType say what starts it; source restricts it to one, "" to none.
	provider, eventType, source string
	// name is the workflow type, as histories and the outbox store it: never renamed.
	name     string
	workflow any
}

func catalog() []entry {
	return []entry{
		{provider: "bearer", eventType: "shipment.depot_arrival", name: "ShipmentDepotArrival", workflow: ShipmentDepotArrival},
		{provider: "stripe", eventType: "invoice.paid", name: "InvoicePaid", workflow: InvoicePaid},
		// A thin event holds no invoice: its run says so, instead of leaving the payment unnoticed.
		{provider: "stripe", eventType: "v1.invoice.paid", name: "InvoicePaid", workflow: InvoicePaid},
	}
}

// Catalog lists which event starts which workflow. An event without one ends
// ignored.
func Catalog() oncehook.Routes {
	var routes oncehook.Routes
	for _, e := range catalog() {
		routes = append(routes, oncehook.Route{Provider: e.provider, Type: e.eventType, Source: e.source, Workflow: e.name})
	}
	return routes
}

// Register registers every workflow of the catalog under its name.
func Register(w worker.WorkflowRegistry) {
	registered := map[string]bool{}
	for _, e := range catalog() {
		if !registered[e.name] {
			registered[e.name] = true
			w.RegisterWorkflowWithOptions(e.workflow, workflow.RegisterOptions{Name: e.name})
		}
	}
}
