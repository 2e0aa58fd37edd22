package billing_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing"
)

// post settles the event's invoice and posts its entry, without business keys.
func (h house) post(t testing.TB, ref oncehook.Ref) (posted billing.Posted, err error) {
	t.Helper()
	err = h.run(t, ref, func(ctx workflow.Context) error {
		settled, err := billing.SettleInvoice.Do(ctx, billing.Settle{})
		if err != nil {
			return err
		}
		posted, err = billing.PostEntry.Do(ctx, billing.Post{Invoice: settled.Invoice})
		return err
	})
	return posted, err
}

func TestAnInvoiceHasOneBalancedEntry(t *testing.T) {
	t.Parallel()
	h := open(t)
	ref := h.Queue(t, event("evt_1", "in_1", 500, "jpy"))
	posted, err := h.post(t, ref)
	require.NoError(t, err)
	require.Equal(t, billing.Posted{Lines: 2}, posted)
	posted, err = h.post(t, h.Queue(t, event("evt_2", "in_1", 500, "jpy")))
	require.NoError(t, err)
	require.Equal(t, billing.Posted{Lines: 2, Before: true}, posted)

	require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM billing.entries WHERE currency = 'jpy' AND decimals = 0 AND NOT livemode
		AND event_key = 'stripe:north:evt_1' AND receipt_id = $1 AND principal = 'sender' AND credential_version = '1'
		AND idempotency_key = 'stripe:north:evt_1:billing.post_entry' AND invoice_version = 1`, ref.ReceiptID))
	require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM billing.entry_lines WHERE side = 'debit' AND account = 'payments_clearing' AND amount = 500`))
	require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM billing.entry_lines WHERE side = 'credit' AND account = 'accounts_receivable' AND amount = 500`))
	require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM billing.audit WHERE action = 'billing.post_entry'`))
}

func TestWhenNothingWasPaidNoAccountMoves(t *testing.T) {
	t.Parallel()
	h := open(t)
	posted, err := h.post(t, h.Queue(t, event("evt_1", "in_1", 0, "usd")))
	require.NoError(t, err)
	require.Equal(t, billing.Posted{}, posted)
	require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM billing.entries`))
	require.Zero(t, h.Count(t, `SELECT count(*) FROM billing.entry_lines`))
}

func TestOnlyASettledInvoiceHasAnEntry(t *testing.T) {
	t.Parallel()
	h := open(t)
	ref := h.Queue(t, event("evt_1", "in_1", 500, "jpy"))
	err := h.run(t, ref, func(ctx workflow.Context) error {
		_, err := billing.PostEntry.Do(ctx, billing.Post{Invoice: "in_1"})
		return err
	})
	require.ErrorContains(t, err, "not settled")
	_, cause, _ := h.End(t, ref.ReceiptID)
	require.Equal(t, oncehook.CausePermanent, cause)
}

func TestTheDatabaseRefusesToChangeOrUnbalanceAnEntry(t *testing.T) {
	t.Parallel()
	h := open(t)
	_, err := h.post(t, h.Queue(t, event("evt_1", "in_1", 500, "jpy")))
	require.NoError(t, err)
	for _, statement := range []string{
		`UPDATE billing.entries SET currency = 'usd'`,
		`DELETE FROM billing.entry_lines`,
		`UPDATE billing.entry_lines SET amount = 1`,
		`TRUNCATE billing.audit`,
		`DELETE FROM billing.audit`,
		`INSERT INTO billing.entry_lines VALUES ('north', 'in_1', 3, 'fees', 'debit', 1)`,
		`INSERT INTO billing.entry_lines VALUES ('north', 'in_1', 3, 'fees', 'debit', 0)`,
	} {
		_, err := h.DB.Exec(t.Context(), statement)
		require.Error(t, err, statement)
	}
	_, err = h.DB.Exec(t.Context(), `INSERT INTO billing.entry_lines VALUES
		('north', 'in_1', 3, 'fees', 'debit', 1), ('north', 'in_1', 4, 'payments_clearing', 'credit', 1)`)
	require.NoError(t, err)
}
