package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// claimFirst is the ordinary case in one statement: nobody has claimed the
// action before. The receipt is locked first and everything else hangs on it.
const claimFirst = `
WITH r AS (
	SELECT id, key, tenant, state, run_no FROM oncehook.receipts WHERE id = @id FOR NO KEY UPDATE
), moved AS (
	UPDATE oncehook.receipts t SET state = 'processing', cause = @cause, version = t.version + 1, changed_at = @now
	FROM r WHERE t.id = r.id AND r.run_no = @run_no AND r.state = 'queued'
	RETURNING t.id, t.version, t.run_no
), noted AS (
	INSERT INTO oncehook.receipt_history (receipt_id, version, from_state, to_state, run_no, cause, actor, at)
	SELECT m.id, m.version, 'queued', 'processing', m.run_no, @cause, @actor, @now FROM moved m
), made AS (
	INSERT INTO oncehook.actions (receipt_id, name, epoch, key, tenant, kind, state, run_no, idempotency_key, business_key,
		lease_until, created_at, changed_at)
	SELECT r.id, @name, @epoch, r.key, r.tenant, @kind, 'running', r.run_no, r.key || @suffix, NULLIF(@business_key, ''),
		now() + @lease::interval, @now, @now
	FROM r WHERE r.run_no = @run_no AND r.state IN ('queued', 'processing')
	ON CONFLICT DO NOTHING
	RETURNING claim
)
SELECT coalesce((SELECT claim FROM made), 0) FROM r`

// claimAgain takes an action over, or begins it where claimFirst lost a race. The
// lifetime of a key begins anew when nothing that was sent under it had an effect.
const claimAgain = `
INSERT INTO oncehook.actions AS a (receipt_id, name, epoch, key, tenant, kind, state, run_no, idempotency_key, business_key,
	lease_until, created_at, changed_at)
VALUES (@id, @name, @epoch, @key, @tenant, @kind, 'running', @run_no, @idempotency_key, NULLIF(@business_key, ''),
	now() + @lease::interval, @now, @now)
ON CONFLICT (receipt_id, name, epoch) DO UPDATE SET
	state = 'running', claim = a.claim + 1, attempts = a.attempts + 1, run_no = excluded.run_no,
	run_attempts = CASE WHEN a.run_no = excluded.run_no THEN a.run_attempts + 1 ELSE 1 END,
	business_key = excluded.business_key, outcome = NULL, reason = NULL, next_attempt_at = NULL, waits_for = NULL,
	wait_until = NULL, lease_until = excluded.lease_until, call_deadline = NULL, changed_at = excluded.changed_at,
	first_sent_at = CASE WHEN a.unanswered THEN a.first_sent_at END, key_expires_at = CASE WHEN a.unanswered THEN a.key_expires_at END
RETURNING claim, run_attempts, unanswered`

// claimLockTimeout is below an attempt's usual deadline: an attempt that is
// still in its transaction is not waited for longer.
const claimLockTimeout = "3s"

// ClaimAction gives the right to attempt an action, in a transaction of its own
// that ends before the attempt begins. The run's first claim moves the receipt
// from queued to processing. It returns a Claim with an Outcome when the action
// is over, ErrStaleRun, ErrRunEnded, ErrBusinessKeyBusy (worth a wait) or
// ErrNotFound.
func (s *Work) ClaimAction(ctx context.Context, q ClaimRequest) (Claim, error) {
	c := Claim{ActionID: q.ActionID, Kind: q.Kind, RunNo: q.RunNo, RunAttempts: 1, BusinessKey: q.BusinessKey}
	batch := &pgx.Batch{}
	batch.Queue(selectEvent, q.ReceiptID)
	batch.Queue(claimFirst, pgx.StrictNamedArgs{
		"id": q.ReceiptID, "run_no": q.RunNo, "name": q.Name, "epoch": q.Epoch, "kind": q.Kind, "business_key": q.BusinessKey,
		"suffix": oncehook.Key("").IdempotencyKey(q.Name, q.Epoch), "lease": q.Lease,
		"cause": oncehook.CauseFirstAction, "actor": s.actor(), "now": s.now(),
	})
	results := s.effects.SendBatch(ctx, batch)
	sealed, err := scanEvent(results.QueryRow())
	if err == nil {
		err = results.QueryRow().Scan(&c.Fence)
	}
	err = errors.Join(err, results.Close())
	if errors.Is(err, pgx.ErrNoRows) {
		return Claim{}, fmt.Errorf("claim %s: receipt %s: %w", q.Name, q.ReceiptID, ErrNotFound)
	}
	if err != nil {
		return Claim{}, fmt.Errorf("claim %s: %w", q.Name, err)
	}
	c.IdempotencyKey = sealed.Key.IdempotencyKey(q.Name, q.Epoch)
	if c.Event, err = s.openEvent(ctx, sealed); err != nil {
		return Claim{}, fmt.Errorf("claim %s: %w", q.Name, err)
	}
	if c.Fence > 0 {
		return c, nil
	}
	if err := s.claimAgain(ctx, q, &c); err != nil {
		return Claim{}, fmt.Errorf("claim %s: %w", q.Name, err)
	}
	return c, nil
}

// claimAgain decides about an action that exists, whose business key is taken,
// or whose run may not begin anything.
func (s *Work) claimAgain(ctx context.Context, q ClaimRequest, c *Claim) error {
	var busy error
	err := pgx.BeginFunc(ctx, s.effects, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, `SELECT set_config('lock_timeout', $1, true)`, claimLockTimeout); err != nil {
			return err
		}
		receipt, err := lockReceipt(ctx, tx, q.ReceiptID)
		if err != nil {
			return err
		}
		if receipt.runNo != q.RunNo {
			return ErrStaleRun
		}
		known, err := lockAction(ctx, tx, q.ActionID)
		if err != nil {
			return err
		}
		if leased := known.leased(q); leased != nil {
			return leased
		}
		if c.Outcome = known.outcome(q); c.Outcome != nil {
			return nil
		}
		switch {
		case receipt.ended():
			return ErrRunEnded
		case receipt.state == oncehook.StateReceived:
			return fmt.Errorf("receipt %s was never queued", q.ReceiptID)
		case receipt.state == oncehook.StateQueued:
			if err := s.move(ctx, tx, receipt, oncehook.StateProcessing, oncehook.CauseFirstAction, ""); err != nil {
				return err
			}
		}
		if known.expired(q) {
			return s.expire(ctx, tx, q, c)
		}
		busy, err = s.take(ctx, tx, q, receipt, c)
		return err
	})
	if err != nil {
		return err
	}
	if busy != nil {
		return busy
	}
	return s.openOutcome(ctx, c)
}

// take raises the claim. When the business key is another's, it records that
// instead: as already done, or as waiting, which the first error returns.
func (s *Work) take(ctx context.Context, tx pgx.Tx, q ClaimRequest, r receiptRow, c *Claim) (busy, err error) {
	args := pgx.StrictNamedArgs{
		"id": q.ReceiptID, "name": q.Name, "epoch": q.Epoch, "key": r.key, "tenant": r.tenant, "kind": q.Kind, "run_no": q.RunNo,
		"idempotency_key": c.IdempotencyKey, "business_key": q.BusinessKey, "lease": q.Lease, "now": s.now(),
	}
	err = pgx.BeginFunc(ctx, tx, func(sp pgx.Tx) error {
		return sp.QueryRow(ctx, claimAgain, args).Scan(&c.Fence, &c.RunAttempts, &c.Unanswered)
	})
	if err == nil || q.BusinessKey == "" || !isUniqueViolation(err) {
		return nil, err
	}
	return s.yieldBusinessKey(ctx, tx, q, r, c)
}
