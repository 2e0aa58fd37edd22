package store

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// repairLockTimeout is how long a repair waits for whoever works on the receipt;
// the next sweep tries again.
const repairLockTimeout = "3s"

func (s *Work) repair(ctx context.Context, fn func(tx pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, repairLockTimeout); err != nil {
			return err
		}
		return fn(tx)
	})
}

// systemAudit is the evidence of what the system itself decided about a receipt.
const systemAudit = `
INSERT INTO oncehook.audit (at, kind, outcome, receipt_id, source, tenant, run_no, actor, cause, correlation_id)
SELECT $2, 'system', $3, r.id, r.source, r.tenant, r.run_no, $4, $5, r.correlation_id FROM oncehook.receipts r WHERE r.id = $1`

// Reopen lets the dispatcher start a run that does not exist: its outbox row is
// open again after the delay, or made anew when it is gone. The start keeps its
// run number and request id, so that a run which exists after all is recognized.
// It returns false when there is nothing to open: the row is open already, or the
// receipt has ended or belongs to another run.
func (s *Work) Reopen(ctx context.Context, run ReceiptRun, delay time.Duration, why string) (bool, error) {
	opened := false
	err := s.repair(ctx, func(tx pgx.Tx) error {
		receipt, err := lockReceipt(ctx, tx, run.ReceiptID)
		if err != nil {
			return err
		}
		if receipt.runNo != run.RunNo || receipt.ended() {
			return nil
		}
		var id int64
		var pending bool
		err = tx.QueryRow(ctx, `
			SELECT id, dispatched_at IS NULL FROM oncehook.outbox WHERE receipt_id = $1 AND run_no = $2 AND kind = 'start'
			ORDER BY dispatched_at IS NULL DESC, id DESC LIMIT 1 FOR UPDATE`, run.ReceiptID, run.RunNo).Scan(&id, &pending)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			_, err = tx.Exec(ctx, `
				INSERT INTO oncehook.outbox (receipt_id, run_no, source, tenant, workflow, due_at, last_error, reopened)
				SELECT id, run_no, source, tenant, workflow, now() + $2::interval, $3, CASE state WHEN 'received' THEN 0 ELSE 1 END
				FROM oncehook.receipts WHERE id = $1`, run.ReceiptID, delay, cleanText(why))
		case err != nil:
			return err
		case pending:
			return nil
		default:
			_, err = tx.Exec(ctx, `
				UPDATE oncehook.outbox SET dispatched_at = NULL, run_id = NULL, lease_until = NULL, reopened = reopened + 1,
					due_at = now() + $2::interval, last_error = $3
				WHERE id = $1`, id, delay, cleanText(why))
		}
		if err != nil {
			return err
		}
		opened = true
		_, err = tx.Exec(ctx, systemAudit, run.ReceiptID, s.now(), "reopened", s.actor(), cleanText(why))
		return err
	})
	if err != nil {
		return false, fmt.Errorf("open the start of receipt %s again: %w", run.ReceiptID, err)
	}
	return opened, nil
}

// CloseRun writes the end of a run that ended outside of its own finish. It is
// Finish, with the same fences, that says in the receipt's detail how many of its
// actions are uncertain: sent, and never recorded. An attempt that is still in its
// transaction is waited for, but not long.
func (s *Work) CloseRun(ctx context.Context, f Finish) (Finished, error) {
	var found Finished
	err := s.repair(ctx, func(tx pgx.Tx) (err error) {
		found, err = s.endRun(ctx, tx, f, withUncertain)
		return err
	})
	if err != nil {
		return "", fmt.Errorf("close the run of receipt %s: %w", f.ReceiptID, err)
	}
	return found, nil
}

func withUncertain(ctx context.Context, tx pgx.Tx, f Finish) (string, error) {
	var names []string
	err := tx.QueryRow(ctx, `
		SELECT coalesce(array_agg(name ORDER BY name), '{}') FROM oncehook.actions WHERE receipt_id = $1 AND state = 'uncertain'`,
		f.ReceiptID).Scan(&names)
	if err != nil || len(names) == 0 {
		return f.Detail, err
	}
	return f.Detail + "; uncertain: " + strings.Join(names, ", "), nil
}
