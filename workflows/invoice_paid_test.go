package workflows_test

import (
	"context"
	"fmt"
	"math"
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

		// Another event's run has the notice under way when this one comes to it.
		s.refusals.Store(math.MaxInt32)
		first := s.begin(t, paid("evt_5", "in_5"))
		s.eventually(t, 1, `SELECT count(*) FROM oncehook.actions WHERE receipt_id = $1 AND name = 'billing.notify_customer' AND last_error IS NOT NULL`, first.ReceiptID)
		waiting := make(chan error, 1)
		go func() {
			for parked := 0; parked == 0; {
				err := s.DB.QueryRow(context.Background(), `SELECT count(*) FROM oncehook.actions WHERE waits_for = 'in_5'`).Scan(&parked)
				if err != nil {
					waiting <- err
					return
				}
			}
			s.refusals.Store(0)
			waiting <- nil
		}()
		s.check(t, "waited", paid("evt_6", "in_5"), oncehook.StateSucceeded, "finished")
		require.NoError(t, <-waiting)
		state, _, _ := s.end(t, first)
		require.Equal(t, oncehook.StateSucceeded, state)
		require.Equal(t, []int{3, 3, 3, 0}, settled())
	})
}
