// Package activities lists the side effects that oncehook ships. Each area is a
// folder: handles beside their functions, and the migrations of its tables.
package activities

import (
	"github.com/oncehook/oncehook/activities/billing"
	"github.com/oncehook/oncehook/activities/logistics"
	"github.com/oncehook/oncehook/effect"
)

// Declared lists every declared action. A worker that lacks the function of one
// of them does not start.
func Declared() []effect.Declared {
	return []effect.Declared{
		billing.NotifyCustomer,
		billing.PostEntry,
		billing.ReadInvoice,
		billing.SettleInvoice,
		logistics.RecordArrival,
	}
}
