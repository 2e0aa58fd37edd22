package workflows

import (
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing"
	"github.com/oncehook/oncehook/effect"
)

// InvoicePaid settles an invoice, posts its accounting entry and tells the
// customer. Two events may tell of one payment: each step happens once for the
// invoice, and whichever run comes second completes what the first did not.
func InvoicePaid(ctx workflow.Context, ref oncehook.Ref) error {
	invoice, err := billing.ReadInvoice.Do(ctx, billing.Read{})
	if err != nil {
		return err
	}
	once := effect.BusinessKey(invoice.ID)
	if _, err := billing.SettleInvoice.Do(ctx, billing.Settle{}, once); err != nil {
		return err
	}
	if _, err := billing.PostEntry.Do(ctx, billing.Post{Invoice: invoice.ID}, once); err != nil {
		return err
	}
	_, err = billing.NotifyCustomer.Do(ctx, billing.Notify{}, once)
	return err
}
