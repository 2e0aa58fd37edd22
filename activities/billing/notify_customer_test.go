package billing_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing"
	"github.com/oncehook/oncehook/effect"
)

// notify tells the customer, with the event's invoice as the business key.
func (h house) notify(t testing.TB, ref oncehook.Ref) (notified billing.Notified, err error) {
	t.Helper()
	err = h.run(t, ref, func(ctx workflow.Context) error {
		invoice, err := billing.ReadInvoice.Do(ctx, billing.Read{})
		if err != nil {
			return err
		}
		notified, err = billing.NotifyCustomer.Do(ctx, billing.Notify{}, effect.BusinessKey(invoice.ID))
		return err
	})
	return notified, err
}

func TestANoticeSaysWhatWasPaidUnderItsIdempotencyKey(t *testing.T) {
	t.Parallel()
	h := open(t)
	ref := h.Queue(t, event("evt_1", "in_1", 1999, "usd"))
	notified, err := h.notify(t, ref)
	require.NoError(t, err)
	require.Equal(t, billing.Notified{Status: http.StatusCreated}, notified)
	summary := h.service.Summary()
	require.Len(t, summary.Notices, 1)
	require.Equal(t, "stripe:north:evt_1:billing.notify_customer", summary.Notices[0].IdempotencyKey)
	require.Equal(t, ref.CorrelationID, summary.Notices[0].CorrelationID)
	require.JSONEq(t, `{"kind":"invoice.paid","tenant":"north","invoice":"in_1","customer":"cus_1","amount":1999,"currency":"usd",
		"display":"19.99 USD","livemode":false,"event_key":"stripe:north:evt_1"}`, string(summary.Notices[0].Body))
}

func TestTwoEventsForOneInvoiceMakeOneNotice(t *testing.T) {
	t.Parallel()
	h := open(t)
	for _, id := range []string{"evt_1", "evt_2"} {
		notified, err := h.notify(t, h.Queue(t, event(id, "in_1", 1999, "usd")))
		require.NoError(t, err)
		require.Equal(t, http.StatusCreated, notified.Status, "the second has the first one's result")
	}
	require.Equal(t, 1, h.service.Summary().Total)
	require.Zero(t, h.service.Summary().Replays)
	require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM oncehook.actions WHERE name = 'billing.notify_customer' AND state = 'already_done'`))
}

func TestARefusedOrUnconfiguredNoticeIsADeadLetterThatSaysSo(t *testing.T) {
	t.Parallel()
	refusing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnprocessableEntity) }))
	t.Cleanup(refusing.Close)
	for name, c := range map[string]struct{ url, says string }{
		"refused":      {refusing.URL, "422"},
		"unconfigured": {"", "destinations.customer-notice"},
	} {
		h := open(t)
		h.notice.URL = c.url
		ref := h.Queue(t, event("evt_1", "in_1", 1999, "usd"))
		_, err := h.notify(t, ref)
		require.Error(t, err, name)
		state, cause, detail := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.StateDeadLettered, state, name)
		require.Equal(t, oncehook.CausePermanent, cause, name)
		require.Contains(t, detail, c.says, name)
	}
}

func TestANoticeIsTriedAgainUnderItsKeyWhenTheServiceIsAway(t *testing.T) {
	t.Parallel()
	h := open(t)
	keys := make(chan string, 10)
	var calls atomic.Int32
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		keys <- r.Header.Get(oncehook.HeaderIdempotencyKey)
		if calls.Add(1) <= 2 {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		h.service.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(service.Close)
	h.notice.URL = service.URL + "/notices"
	_, err := h.notify(t, h.Queue(t, event("evt_1", "in_1", 1999, "usd")))
	require.NoError(t, err)
	require.Equal(t, 1, h.service.Summary().Total)
	for range 3 {
		require.Equal(t, "stripe:north:evt_1:billing.notify_customer", <-keys)
	}
}
