package billing

import (
	"context"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing/internal/invoice"
	"github.com/oncehook/oncehook/effect"
)

// ReadInvoice says which invoice an event is about, so that the workflow can name
// it as the business key of what follows. It changes nothing. It is an action
// because only actions see the event, and because its result is then kept: a
// later run knows the invoice when the event's body is gone.
var ReadInvoice = effect.Local[Read, Invoice]("billing.read_invoice")

// Read is the input of ReadInvoice: what is read is the event.
type Read struct{}

// Invoice is the result of ReadInvoice.
type Invoice struct {
	// ID is the provider's id of the invoice, such as in_1Nabc.
	ID string `json:"id"`
}

func readInvoice(ctx context.Context, _ Read) (Invoice, error) {
	paid, err := invoice.Read(effect.Event(ctx).Body)
	if err != nil {
		return Invoice{}, oncehook.Permanent(err)
	}
	return Invoice{ID: paid.ID}, nil
}
