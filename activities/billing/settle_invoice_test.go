package billing_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing"
)

func TestASettledInvoiceNamesTheEventThatCausedIt(t *testing.T) {
	t.Parallel()
	h := open(t)
	ref := h.Queue(t, event("evt_1", "in_1", 1999, "usd"))
	settled, err := h.settle(t, ref)
	require.NoError(t, err)
	require.Equal(t, billing.Settled{Invoice: "in_1", Version: 1}, settled)
	for _, table := range []string{"invoices", "audit"} {
		require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM billing.`+table+` WHERE tenant = 'north' AND invoice_id = 'in_1'
			AND event_key = 'stripe:north:evt_1' AND receipt_id = $1 AND principal = 'sender' AND credential_version = '1'
			AND idempotency_key = 'stripe:north:evt_1:billing.settle_invoice' AND version = 1`, ref.ReceiptID), table)
	}
	require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM billing.invoices WHERE state = 'settled' AND customer_id = 'cus_1'
		AND amount_paid = 1999 AND currency = 'usd' AND decimals = 2 AND NOT livemode AND occurred_at = $1`, at(12)))
}

func TestAnOlderObservationUndoesNoNewerOne(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		first, second time.Time
		superseded    bool
	}{
		"new after old":          {at(1), at(2), false},
		"old after new":          {at(2), at(1), true},
		"equal applies":          {at(1), at(1), false},
		"absent follows receipt": {time.Time{}, at(1), false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := open(t)
			first, second := event("evt_1", "in_1", 100, "usd"), event("evt_2", "in_1", 200, "usd")
			first.OccurredAt, second.OccurredAt = c.first, c.second
			_, err := h.settle(t, h.Queue(t, first))
			require.NoError(t, err)
			ref := h.Queue(t, second)
			settled, err := h.settle(t, ref)
			state, cause, detail := h.End(t, ref.ReceiptID)
			if c.superseded {
				require.NoError(t, err)
				require.Equal(t, oncehook.StateIgnored, state)
				require.Equal(t, oncehook.CauseSuperseded, cause)
				require.Contains(t, detail, "last changed by an observation observed at 2026-11-30T02:00:00Z")
				require.Equal(t, 100, h.Count(t, `SELECT amount_paid FROM billing.invoices`))
				return
			}
			require.NoError(t, err)
			require.EqualValues(t, 2, settled.Version)
			require.Equal(t, 200, h.Count(t, `SELECT amount_paid FROM billing.invoices WHERE event_key = 'stripe:north:evt_2'`))
			require.Equal(t, 2, h.Count(t, `SELECT count(*) FROM billing.audit`))
		})
	}
}

func TestNoIDReachesAnotherTenantsInvoice(t *testing.T) {
	t.Parallel()
	h := open(t)
	for tenant, amount := range map[string]int{"north": 100, "south": 200} {
		e := event("evt_1", "in_1", amount, "usd")
		e.Tenant = tenant
		settled, err := h.settle(t, h.Queue(t, e))
		require.NoError(t, err)
		require.EqualValues(t, 1, settled.Version)
	}
	require.Equal(t, 100, h.Count(t, `SELECT amount_paid FROM billing.invoices WHERE tenant = 'north'`))
	require.Equal(t, 200, h.Count(t, `SELECT amount_paid FROM billing.invoices WHERE tenant = 'south'`))
}

func TestAnEventWhosePayloadIsGoneIsADeadLetter(t *testing.T) {
	t.Parallel()
	h := open(t)
	ref := h.Queue(t, event("evt_1", "in_1", 100, "usd"))
	_, err := h.DB.Exec(t.Context(), `DELETE FROM oncehook.payloads`)
	require.NoError(t, err)
	_, err = h.settle(t, ref)
	require.Error(t, err)
	_, cause, detail := h.End(t, ref.ReceiptID)
	require.Equal(t, oncehook.CausePermanent, cause)
	require.Contains(t, detail, "past its retention")
}
