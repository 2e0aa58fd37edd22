package workflows_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func paid(id, invoice string) storetest.Event {
	return storetest.Event{
		ID: id, Type: "invoice.paid", OccurredAt: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC),
		Body: fmt.Sprintf(`{"object":"event","livemode":false,"data":{"object":{"object":"invoice","id":%q,"status":"paid",
			"customer":"cus_1","amount_paid":1999,"currency":"usd"}}}`, invoice),
	}
}

func TestPaidInvoicesOnARealServerEndAsSaidAndReplay(t *testing.T) {
	inBothShapes(t, "InvoicePaid", "invoice_paid", func(t *testing.T, s *scene) {
		settled := func() []int {
			return []int{
				s.Count(t, `SELECT count(*) FROM billing.invoices`), s.Count(t, `SELECT count(*) FROM billing.entries`),
				s.service.Summary().Total, s.service.Summary().Replays,
			}
		}
		s.check(t, "succeeded", paid("evt_1", "in_1"), oncehook.StateSucceeded, "finished")
		require.Equal(t, []int{1, 1, 1, 0}, settled())

		s.check(t, "already_done", paid("evt_2", "in_1"), oncehook.StateSucceeded, "finished")
		require.Equal(t, []int{1, 1, 1, 0}, settled(), "another event for the same payment changes nothing")

		thin := paid("evt_3", "in_3")
		thin.Type, thin.Body = "v1.invoice.paid", `{"object":"v2.core.event","type":"v1.invoice.paid"}`
		s.check(t, "permanent", thin, oncehook.StateDeadLettered, "permanent")

		s.refusals.Store(2)
		s.check(t, "retried", paid("evt_4", "in_4"), oncehook.StateSucceeded, "finished")
		require.Equal(t, []int{2, 2, 2, 0}, settled())
	})
}
