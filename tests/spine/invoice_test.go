package spine_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing"
	"github.com/oncehook/oncehook/internal/devstack/receiver"
	"github.com/oncehook/oncehook/providers"
	"github.com/oncehook/oncehook/tests/harness"
)

// shop is an installation that hears from Stripe, and the service that its notices go to.
type shop struct {
	*harness.System
	service *receiver.Receiver
	signer  oncehook.Signer
}

func openShop(t *testing.T, regular bool) shop {
	t.Helper()
	s := shop{
		System:  harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: regular}),
		service: receiver.New(time.Now),
	}
	server := httptest.NewServer(s.service.Handler())
	t.Cleanup(server.Close)
	file, err := os.OpenFile(s.ConfigFile, os.O_APPEND|os.O_WRONLY, 0)
	require.NoError(t, err)
	_, err = fmt.Fprintf(file, "egress: {allow: [%q]}\ndestinations: {%s: {url: %q}}\n",
		strings.TrimPrefix(server.URL, "http://"), billing.NoticeDestination, server.URL+receiver.Path)
	require.NoError(t, err)
	require.NoError(t, file.Close())

	provider, err := providers.New("stripe", oncehook.Source{Name: "stripe", Principals: []oncehook.Principal{{
		Name: "stripe", Tenants: []string{oncehook.AllTenants}, Credentials: []oncehook.Credential{stripeCredential()},
	}}})
	require.NoError(t, err)
	s.signer = provider.(oncehook.Signer)
	return s
}

func stripeCredential() oncehook.Credential {
	return oncehook.Credential{Version: "1", Secret: oncehook.Secret(harness.StripeSecret)}
}

// deliver sends one event of a paid invoice, signed now, as Stripe does with each
// attempt. It never fails a test, so that goroutines may call it.
func (s shop) deliver(p *harness.Process, event, invoice string) harness.Answer {
	draft := oncehook.Draft{
		ID: event, Type: "invoice.paid", Now: time.Now(),
		Set: map[string]string{"data.object.id": invoice, "data.object.amount_paid": "500", "data.object.currency": "jpy"},
	}
	body, err := s.signer.Compose(draft)
	if err != nil {
		return harness.Answer{Err: err}
	}
	header, err := s.signer.Sign(body, draft, stripeCredential())
	if err != nil {
		return harness.Answer{Err: err}
	}
	request, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.IngressURL+"/hooks/stripe", bytes.NewReader(body))
	if err != nil {
		return harness.Answer{Err: err}
	}
	request.Header = header
	return harness.Do(request)
}

func TestAPaidInvoiceIsSettledBookedAndAnnouncedOnce(t *testing.T) {
	for _, shape := range []struct {
		name    string
		regular bool
	}{{"as local activities", false}, {"as regular activities", true}} {
		t.Run(shape.name, func(t *testing.T) {
			s := openShop(t, shape.regular)
			p := s.Serve()
			s.Work()

			first := s.deliver(p, "evt_1", "in_1").Is(t, http.StatusAccepted, "accepted")
			require.Equal(t, "stripe:dev:evt_1", first.EventKey)
			s.deliveredAgain(p, "evt_1", "in_1", 100)
			s.Succeeded(1, time.Minute)
			s.settledOnce(first)

			// Stripe may tell of one payment in two events.
			second := s.deliver(p, "evt_2", "in_1").Is(t, http.StatusAccepted, "accepted")
			s.Succeeded(2, time.Minute)
			s.settledOnce(first)
			var seen trace
			p.Admin("/api/v1/events/"+second.ReceiptID+"/trace", &seen)
			require.Len(t, seen.Actions, 4)
			for _, action := range seen.Actions {
				want := "already_done"
				if action.Name == billing.ReadInvoice.Name {
					want = "done"
				}
				require.Equal(t, want, action.State, action.Name)
			}

			p.Admin("/api/v1/events/"+first.ReceiptID+"/trace", &seen)
			require.Equal(t, 101, seen.Receipt.Deliveries)
			for _, action := range seen.Actions {
				require.Equal(t, "done", action.State, action.Name)
				require.Equal(t, first.EventKey+":"+action.Name, action.IdempotencyKey)
				require.Equal(t, 1, action.Attempts, action.Name)
			}
			require.Equal(t, "stripe", seen.Decisions[0].Principal)
			require.Equal(t, "1", seen.Decisions[0].CredentialVersion)
		})
	}
}

// deliveredAgain sends copies, ten at a time, and wants each to be a duplicate.
func (s shop) deliveredAgain(p *harness.Process, event, invoice string, copies int) {
	s.T.Helper()
	answers := make([]harness.Answer, copies)
	var senders sync.WaitGroup
	const senderCount = 10
	for sender := range senderCount {
		senders.Go(func() {
			for n := sender; n < copies; n += senderCount {
				answers[n] = s.deliver(p, event, invoice)
			}
		})
	}
	senders.Wait()
	for _, answer := range answers {
		answer.Is(s.T, http.StatusOK, "duplicate")
	}
}

// settledOnce wants one settlement, one balanced entry and one notice, each with
// the event that caused it.
func (s shop) settledOnce(cause harness.Answer) {
	s.T.Helper()
	causedBy := ` AND tenant = 'dev' AND invoice_id = 'in_1' AND event_key = $1 AND receipt_id = $2 AND principal = 'stripe' AND credential_version = '1'`
	for table, action := range map[string]string{"invoices": "settle_invoice", "entries": "post_entry"} {
		require.Equal(s.T, 1, s.Count(`SELECT count(*) FROM billing.`+table))
		require.Equal(s.T, 1, s.Count(`SELECT count(*) FROM billing.`+table+` WHERE currency = 'jpy' AND decimals = 0 AND idempotency_key = $3`+causedBy,
			cause.EventKey, cause.ReceiptID, cause.EventKey+":billing."+action))
		require.Equal(s.T, 1, s.Count(`SELECT count(*) FROM billing.audit WHERE action = $3`+causedBy, cause.EventKey, cause.ReceiptID, "billing."+action))
	}
	require.Equal(s.T, "credit accounts_receivable 500\ndebit payments_clearing 500",
		s.Text(`SELECT side || ' ' || account || ' ' || amount FROM billing.entry_lines ORDER BY side`))

	summary := s.service.Summary()
	require.Equal(s.T, 1, summary.Total)
	require.Zero(s.T, summary.Replays)
	require.Equal(s.T, cause.EventKey+":billing.notify_customer", summary.Notices[0].IdempotencyKey)
	require.Equal(s.T, cause.CorrelationID, summary.Notices[0].CorrelationID)
	require.Contains(s.T, string(summary.Notices[0].Body), `"display":"500 JPY"`)
}

func TestTwoEventsForOneInvoiceAtOnceSettleItOnce(t *testing.T) {
	s := openShop(t, false)
	p := s.Serve()
	s.Work()
	const events = 8
	answers := make([]harness.Answer, events)
	var senders sync.WaitGroup
	for n := range events {
		senders.Go(func() { answers[n] = s.deliver(p, fmt.Sprint("evt_", n), "in_1") })
	}
	senders.Wait()
	for _, answer := range answers {
		answer.Is(t, http.StatusAccepted, "accepted")
	}
	s.Succeeded(events, 2*time.Minute)
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM billing.invoices WHERE version = 1`))
	require.Equal(t, 2, s.Count(`SELECT count(*) FROM billing.entry_lines`))
	require.Equal(t, 1, s.service.Summary().Total)
	for _, action := range []string{"settle_invoice", "post_entry", "notify_customer"} {
		require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.actions WHERE name = $1 AND state = 'done'`, "billing."+action), action)
		require.Equal(t, events-1, s.Count(`SELECT count(*) FROM oncehook.actions WHERE name = $1 AND state = 'already_done'`, "billing."+action), action)
	}
}

func TestAThinEventSaysWhatToConfigureInstead(t *testing.T) {
	s := openShop(t, false)
	p := s.Serve()
	s.Work()
	draft := oncehook.Draft{ID: "evt_thin", Type: "v1.invoice.paid", Now: time.Now()}
	body, err := s.signer.Compose(draft)
	require.NoError(t, err)
	header, err := s.signer.Sign(body, draft, stripeCredential())
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.IngressURL+"/hooks/stripe", bytes.NewReader(body))
	require.NoError(t, err)
	request.Header = header
	thin := harness.Do(request).Is(t, http.StatusAccepted, "accepted")
	s.Eventually(1, time.Minute, `SELECT count(*) FROM oncehook.receipts WHERE id = $1 AND state = 'dead_lettered' AND cause = 'permanent'`, thin.ReceiptID)
	require.Contains(t, s.Text(`SELECT detail FROM oncehook.receipt_history WHERE receipt_id = $1 AND to_state = 'dead_lettered'`, thin.ReceiptID),
		"let the endpoint send snapshot events")
}
