package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// deadMargin is how long past its lease an attempt of an ended receipt is left alone.
const deadMargin = 15 * time.Second

const endedStates = `('succeeded', 'ignored', 'dead_lettered')`

// DeadAttempts returns ended receipts with an action that says running although
// no attempt holds a lease any more.
func (s *Work) DeadAttempts(ctx context.Context, size int) ([]uuid.UUID, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT DISTINCT a.receipt_id FROM oncehook.actions a JOIN oncehook.receipts r ON r.id = a.receipt_id
		WHERE a.state = 'running' AND a.outcome IS NULL AND r.state IN `+endedStates+`
			AND coalesce(a.lease_until, '-infinity') < now() - $1::interval
		ORDER BY a.receipt_id LIMIT $2`, deadMargin, size)
	if err != nil {
		return nil, fmt.Errorf("read dead attempts: %w", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowTo[uuid.UUID])
	if err != nil {
		return nil, fmt.Errorf("read dead attempts: %w", err)
	}
	return list, nil
}

// CloseAttempts ends the open actions of a receipt that DeadAttempts returned,
// as Finish would have: uncertain if something was sent, else failed, so that
// their business keys are free. It returns false when the receipt is open again,
// or an attempt has a lease.
func (s *Work) CloseAttempts(ctx context.Context, receiptID uuid.UUID) (bool, error) {
	closed := false
	err := s.repair(ctx, func(tx pgx.Tx) error {
		receipt, err := lockReceipt(ctx, tx, receiptID)
		if err != nil || !receipt.ended() {
			return err
		}
		var leased bool
		err = tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM oncehook.actions
				WHERE receipt_id = $1 AND state = 'running' AND lease_until >= now() - $2::interval)`, receiptID, deadMargin).Scan(&leased)
		if err != nil || leased {
			return err
		}
		closed = true
		return s.closeActions(ctx, tx, receipt)
	})
	if err != nil {
		return false, fmt.Errorf("close the attempts of receipt %s: %w", receiptID, err)
	}
	return closed, nil
}

// FreeLease opens the outbox row of a run that OpenReceipt called stuck.
func (s *Work) FreeLease(ctx context.Context, run ReceiptRun) (bool, error) {
	tag, err := s.pool.Exec(ctx, `
		UPDATE oncehook.outbox SET lease_until = NULL
		WHERE receipt_id = $1 AND run_no = $2 AND dispatched_at IS NULL AND lease_until > now() + interval '`+stuckLease+`'`,
		run.ReceiptID, run.RunNo)
	if err != nil {
		return false, fmt.Errorf("free the lease of receipt %s: %w", run.ReceiptID, err)
	}
	return tag.RowsAffected() > 0, nil
}

// TidyOutbox deletes rows that were dispatched before that time and whose
// receipt has ended. The receipt keeps its run's id.
func (s *Work) TidyOutbox(ctx context.Context, before time.Time, size int) (int, error) {
	tag, err := s.pool.Exec(ctx, tidyOutbox, pgx.StrictNamedArgs{"before": before, "size": size})
	if err != nil {
		return 0, fmt.Errorf("tidy the outbox: %w", err)
	}
	return int(tag.RowsAffected()), nil
}

const tidyOutbox = `
WITH old AS (
	SELECT o.id, o.receipt_id, o.run_no, o.run_id, o.kind FROM oncehook.outbox o JOIN oncehook.receipts r ON r.id = o.receipt_id
	WHERE o.dispatched_at < @before AND r.state IN ` + endedStates + ` AND r.changed_at < @before
	ORDER BY o.dispatched_at LIMIT @size
	FOR UPDATE OF o SKIP LOCKED
), kept AS (
	UPDATE oncehook.receipts r SET run_id = old.run_id FROM old
	WHERE r.id = old.receipt_id AND r.run_no = old.run_no AND old.kind = 'start' AND old.run_id IS NOT NULL
)
DELETE FROM oncehook.outbox o USING old WHERE o.id = old.id`

// Ledger is what a receipt's actions came to.
type Ledger struct {
	// Ended holds the actions that have an end.
	Ended map[string]bool
	// Ignored and Superseded say that some action ended so.
	Ignored, Superseded bool
}

// Ledger reads what the receipt's actions came to.
func (s *Work) Ledger(ctx context.Context, receiptID uuid.UUID) (Ledger, error) {
	rows, err := s.pool.Query(ctx, `
		SELECT name, state, coalesce(outcome, '') FROM oncehook.actions WHERE receipt_id = $1`, receiptID)
	if err != nil {
		return Ledger{}, fmt.Errorf("read the ledger: %w", err)
	}
	l := Ledger{Ended: map[string]bool{}}
	var name, word string
	var state oncehook.ActionState
	_, err = pgx.ForEachRow(rows, []any{&name, &state, &word}, func() error {
		l.Ended[name] = state != oncehook.ActionRunning
		l.Ignored = l.Ignored || word == WordIgnored
		l.Superseded = l.Superseded || state == oncehook.ActionSuperseded
		return nil
	})
	if err != nil {
		return Ledger{}, fmt.Errorf("read the ledger: %w", err)
	}
	return l, nil
}
