package billing

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
)

// PostEntry posts the accounting entry of a settled invoice: what was paid, debited
// to AccountClearing and credited to AccountReceivable. An invoice has one entry.
var PostEntry = effect.Local[Post, Posted]("billing.post_entry")

// The accounts of an entry.
const (
	// AccountClearing holds what the payment provider owes us.
	AccountClearing = "payments_clearing"
	// AccountReceivable holds what customers owe us.
	AccountReceivable = "accounts_receivable"
)

// Post is the input of PostEntry.
type Post struct {
	// Invoice is the id of a settled invoice.
	Invoice string `json:"invoice"`
}

// Posted is the result of PostEntry.
type Posted struct {
	// Lines is how many lines the entry has: none when nothing was paid, since an
	// account moves by whole amounts above zero only.
	Lines int `json:"lines"`
	// Before says that the invoice had its entry before this action.
	Before bool `json:"before,omitempty"`
}

const insertEntry = `
WITH posted AS (
	INSERT INTO billing.entries (tenant, invoice_id, invoice_version, currency, decimals, livemode, event_key, receipt_id, principal,
		credential_version, idempotency_key, posted_at)
	SELECT i.tenant, i.invoice_id, i.version, i.currency, i.decimals, i.livemode, @event_key, @receipt_id, @principal,
		@credential_version, @idempotency_key, @now
	FROM billing.invoices i WHERE i.tenant = @tenant AND i.invoice_id = @invoice AND i.state = 'settled'
	ON CONFLICT (tenant, invoice_id) DO NOTHING
	RETURNING tenant, invoice_id, invoice_version
), lines AS (
	INSERT INTO billing.entry_lines (tenant, invoice_id, line, account, side, amount)
	SELECT p.tenant, p.invoice_id, l.line, l.account, l.side, i.amount_paid
	FROM posted p
	JOIN billing.invoices i USING (tenant, invoice_id)
	CROSS JOIN (VALUES (1, @debit, 'debit'), (2, @credit, 'credit')) AS l (line, account, side)
	WHERE i.amount_paid > 0
	RETURNING line
), witness AS (
	INSERT INTO billing.audit (at, action, tenant, invoice_id, version, event_key, receipt_id, principal, credential_version, idempotency_key)
	SELECT @now, @action, p.tenant, p.invoice_id, p.invoice_version, @event_key, @receipt_id, @principal, @credential_version, @idempotency_key
	FROM posted p
)
SELECT (SELECT count(*) FROM lines) FROM posted`

func postEntry(ctx context.Context, in Post) (Posted, error) {
	var posted Posted
	tx := effect.Tx(ctx)
	err := tx.QueryRow(ctx, insertEntry, caused(ctx, PostEntry.Name, pgx.StrictNamedArgs{
		"invoice": in.Invoice, "debit": AccountClearing, "credit": AccountReceivable,
	})).Scan(&posted.Lines)
	if !errors.Is(err, pgx.ErrNoRows) {
		if err != nil {
			return Posted{}, fmt.Errorf("post the entry: %w", err)
		}
		return posted, nil
	}
	var known bool
	err = tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM billing.entries WHERE tenant = $1 AND invoice_id = $2),
			(SELECT count(*) FROM billing.entry_lines WHERE tenant = $1 AND invoice_id = $2)`,
		effect.Event(ctx).Tenant, in.Invoice).Scan(&known, &posted.Lines)
	switch {
	case err != nil:
		return Posted{}, fmt.Errorf("look for the invoice's entry: %w", err)
	case !known:
		return Posted{}, oncehook.Permanent(errors.New("the invoice is not settled"))
	}
	posted.Before = true
	return posted, nil
}
