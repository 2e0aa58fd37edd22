package billing

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/billing/internal/invoice"
	"github.com/oncehook/oncehook/effect"
)

// SettleInvoice records that an invoice is paid. An observation older than the one
// that last changed the invoice is superseded.
var SettleInvoice = effect.Local[Settle, Settled]("billing.settle_invoice")

// Settle is the input of SettleInvoice. It is empty: what was paid is in the
// event, and stays out of histories.
type Settle struct{}

// Settled is the result of SettleInvoice.
type Settled struct {
	Invoice string `json:"invoice"`
	// Version counts the invoice's changes, this one included.
	Version int64 `json:"version"`
}

// settle writes the invoice unless it was last changed by a newer observation.
// Where both have a time of their own it decides, and an equal one applies; where
// one has none, the order of receipt decides.
const settle = `
WITH applied AS (
	INSERT INTO billing.invoices AS i (tenant, invoice_id, state, customer_id, amount_paid, currency, decimals, livemode, occurred_at,
		received_at, event_key, receipt_id, principal, credential_version, idempotency_key, changed_at)
	VALUES (@tenant, @invoice, 'settled', NULLIF(@customer, ''), @amount, @currency, @decimals, @livemode, @occurred_at,
		@received_at, @event_key, @receipt_id, @principal, @credential_version, @idempotency_key, @now)
	ON CONFLICT (tenant, invoice_id) DO UPDATE SET
		state = excluded.state, customer_id = excluded.customer_id, amount_paid = excluded.amount_paid, currency = excluded.currency,
		decimals = excluded.decimals, livemode = excluded.livemode, occurred_at = excluded.occurred_at,
		received_at = excluded.received_at, event_key = excluded.event_key, receipt_id = excluded.receipt_id,
		principal = excluded.principal, credential_version = excluded.credential_version,
		idempotency_key = excluded.idempotency_key, version = i.version + 1, changed_at = excluded.changed_at
	WHERE CASE WHEN i.occurred_at IS NULL OR excluded.occurred_at IS NULL
		THEN (i.received_at, i.receipt_id) <= (excluded.received_at, excluded.receipt_id)
		ELSE i.occurred_at <= excluded.occurred_at END
	RETURNING i.version
), witness AS (
	INSERT INTO billing.audit (at, action, tenant, invoice_id, version, event_key, receipt_id, principal, credential_version, idempotency_key)
	SELECT @now, @action, @tenant, @invoice, a.version, @event_key, @receipt_id, @principal, @credential_version, @idempotency_key
	FROM applied a
)
SELECT version FROM applied`

func settleInvoice(ctx context.Context, _ Settle) (Settled, error) {
	event := effect.Event(ctx)
	paid, err := invoice.Read(event.Body)
	if err != nil {
		return Settled{}, oncehook.Permanent(err)
	}
	settled := Settled{Invoice: paid.ID}
	err = effect.Tx(ctx).QueryRow(ctx, settle, caused(ctx, SettleInvoice.Name, pgx.StrictNamedArgs{
		"invoice": paid.ID, "customer": paid.Customer, "amount": paid.Amount, "currency": paid.Currency,
		"decimals": invoice.Decimals(paid.Currency), "livemode": paid.Livemode,
		"occurred_at": timeOrNull(event.OccurredAt), "received_at": event.ReceivedAt,
	})).Scan(&settled.Version)
	if errors.Is(err, pgx.ErrNoRows) {
		return Settled{}, superseded(ctx, event, paid.ID)
	}
	if err != nil {
		return Settled{}, fmt.Errorf("settle the invoice: %w", err)
	}
	return settled, nil
}

// superseded says by what.
func superseded(ctx context.Context, event effect.StoredEvent, id string) error {
	var (
		occurredAt *time.Time
		receivedAt time.Time
	)
	err := effect.Tx(ctx).QueryRow(ctx, `
		SELECT occurred_at, received_at FROM billing.invoices WHERE tenant = $1 AND invoice_id = $2`,
		event.Tenant, id).Scan(&occurredAt, &receivedAt)
	if err != nil {
		return fmt.Errorf("read the newer observation: %w", err)
	}
	observed, newer, word := event.ReceivedAt, receivedAt, "received"
	if occurredAt != nil && !event.OccurredAt.IsZero() {
		observed, newer, word = event.OccurredAt, *occurredAt, "observed"
	}
	return oncehook.Superseded(fmt.Sprintf("%s at %s, but the invoice was last changed by an observation %s at %s",
		word, stamp(observed), word, stamp(newer)))
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
