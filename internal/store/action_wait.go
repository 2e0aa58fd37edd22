package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// A wait for a business fact, and the effect that settles it, take one lock: so
// either the wait is seen by the effect, which wakes it, or the effect by the wait.

// factLock is the lock's statement, of a tenant and a business key.
const factLock = `SELECT pg_advisory_xact_lock(hashtextextended('oncehook business key ' || $1::text || ' ' || $2::text, 0))`

func lockFact(ctx context.Context, tx pgx.Tx, tenant, businessKey string) error {
	_, err := tx.Exec(ctx, factLock, tenant, businessKey)
	return err
}

// wakeWaiters writes a signal for each open run whose action waits for the
// business key. It commits with the end of the action that held the key.
const wakeWaiters = `
INSERT INTO oncehook.outbox (kind, receipt_id, run_no, source, tenant, signal)
SELECT 'signal', w.receipt_id, w.run_no, r.source, r.tenant, json_build_object('action', w.name)::text
FROM oncehook.actions w JOIN oncehook.receipts r ON r.id = w.receipt_id AND r.run_no = w.run_no
WHERE w.tenant = $1 AND w.waits_for = $2 AND w.outcome IS NULL AND r.state = 'processing'
ORDER BY w.receipt_id, w.name`

// wake wakes who waits for the business keys. The transaction keeps their locks,
// so it ends soon.
func wake(ctx context.Context, tx pgx.Tx, tenant string, businessKeys ...string) error {
	slices.Sort(businessKeys) // one order everywhere
	for _, key := range slices.Compact(businessKeys) {
		if key == "" {
			continue
		}
		if err := lockFact(ctx, tx, tenant, key); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, wakeWaiters, tenant, key); err != nil {
			return err
		}
	}
	return nil
}

// Wait is what an attempt found missing.
type Wait struct {
	// For is the business key of what must exist first.
	For string
	// Until is when the run gives up waiting.
	Until time.Time
	// Reason is what an operator reads.
	Reason string
}

// settledLately is longer than an attempt takes: a fact that was settled earlier
// was there to be seen, and is not what the attempt missed.
const settledLately = 30 * time.Second

// Park ends an attempt that must wait, without spending it: the run is woken by
// the next effect that settles the business key. It returns false, and records
// nothing, when one has done so meanwhile: the attempt failed and may be repeated.
// ErrFenced means that a later attempt took the action over.
func (s *Work) Park(ctx context.Context, c Claim, w Wait) (bool, error) {
	parked := false
	err := pgx.BeginFunc(ctx, s.effects, func(tx pgx.Tx) error {
		if err := lockFact(ctx, tx, c.Event.Tenant, w.For); err != nil {
			return err
		}
		var settled bool
		err := tx.QueryRow(ctx, `
			SELECT EXISTS (SELECT FROM oncehook.actions WHERE tenant = $1 AND business_key = $2 AND state = 'done' AND changed_at > $3)`,
			c.Event.Tenant, w.For, s.now().Add(-settledLately)).Scan(&settled)
		if err != nil || settled {
			return err
		}
		// What may have happened at a downstream keeps its own business key.
		tag, err := tx.Exec(ctx, `
			UPDATE oncehook.actions SET state = CASE WHEN unanswered THEN 'running' ELSE 'failed' END,
				run_attempts = greatest(run_attempts - 1, 0), waits_for = $5, wait_until = $6, last_error = $7,
				lease_until = NULL, call_deadline = NULL, next_attempt_at = NULL, changed_at = $8
			WHERE receipt_id = $1 AND name = $2 AND epoch = $3 AND claim = $4 AND state = 'running'`,
			c.ReceiptID, c.Name, c.Epoch, c.Fence, w.For, nullTime(w.Until), cleanText(w.Reason), s.now())
		if err == nil && tag.RowsAffected() != 1 {
			err = ErrFenced
		}
		parked = err == nil
		return err
	})
	if err != nil {
		return false, fmt.Errorf("park %s: %w", c.Name, err)
	}
	return parked, nil
}
