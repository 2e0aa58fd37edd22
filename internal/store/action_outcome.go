package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/oncehook/oncehook"
)

// knownAction is an existing action row, locked.
type knownAction struct {
	state       oncehook.ActionState
	runNo       int
	runAttempts int
	word        string
	reason      string
	doneBy      *uuid.UUID
	// unanswered says that something was sent whose outcome is unknown, forgotten
	// that its key's lifetime is over too.
	unanswered, forgotten bool
	// lease is how long the attempt may still be sending.
	lease time.Duration
}

// lockAction returns nil when there is no such action yet. It waits for an
// attempt that is in its transaction, up to the transaction's lock_timeout.
func lockAction(ctx context.Context, tx pgx.Tx, id ActionID) (*knownAction, error) {
	var (
		a     knownAction
		lease float64
	)
	err := tx.QueryRow(ctx, `
		SELECT state, run_no, run_attempts, coalesce(outcome, ''), coalesce(reason, last_error, ''), done_by,
			unanswered, coalesce(unanswered AND key_expires_at <= clock_timestamp(), false),
			coalesce(extract(epoch FROM greatest(lease_until, call_deadline) - clock_timestamp()), 0)::float8
		FROM oncehook.actions WHERE receipt_id = $1 AND name = $2 AND epoch = $3 FOR NO KEY UPDATE`, id.ReceiptID, id.Name, id.Epoch).
		Scan(&a.state, &a.runNo, &a.runAttempts, &a.word, &a.reason, &a.doneBy, &a.unanswered, &a.forgotten, &lease)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // no row is an answer, not an error
	}
	if err != nil {
		return nil, err
	}
	a.lease = time.Duration(lease * float64(time.Second))
	return &a, nil
}

// leased returns an error while an earlier attempt of a remote effect may still
// be sending: of this run, or of one that ended meanwhile.
func (a *knownAction) leased(q ClaimRequest) error {
	if a == nil || !remote(q.Kind) || a.lease <= 0 {
		return nil
	}
	if a.state == oncehook.ActionRunning || a.state == oncehook.ActionUncertain && a.runNo != q.RunNo {
		return &LeasedError{Wait: a.lease}
	}
	return nil
}

// expired reports whether nothing may be sent any more.
func (a *knownAction) expired(q ClaimRequest) bool { return a != nil && remote(q.Kind) && a.forgotten }

// outcome returns how the action ended, or nil when it may be attempted.
func (a *knownAction) outcome(q ClaimRequest) *ActionOutcome {
	if a == nil {
		return nil
	}
	o := &ActionOutcome{State: a.state, Word: a.word, Reason: a.reason}
	switch a.state {
	case oncehook.ActionDone, oncehook.ActionSuperseded:
		return o
	case oncehook.ActionUncertain:
		// A later run may find out, under the same key, while the key lives.
		if a.runNo != q.RunNo && a.unanswered && a.word != WordKeyExpired {
			return nil
		}
		return o
	case oncehook.ActionAlreadyDone:
		if a.doneBy != nil {
			o.DoneBy = *a.doneBy
		}
		return o
	case oncehook.ActionRunning, oncehook.ActionFailed:
	}
	if a.runNo != q.RunNo || a.expired(q) {
		return nil
	}
	if a.state == oncehook.ActionFailed && a.word != "" {
		return o
	}
	if q.MaxAttempts > 0 && a.runAttempts >= q.MaxAttempts {
		// Of a remote action, the run's end says whether it is uncertain.
		return &ActionOutcome{State: oncehook.ActionFailed, Word: WordRetriesExhausted, Reason: a.reason}
	}
	return nil
}

// openOutcome decrypts the stored result of an action that is done.
func (s *Work) openOutcome(ctx context.Context, c *Claim) error {
	o := c.Outcome
	if o == nil {
		return nil
	}
	id := c.ActionID
	switch o.State {
	case oncehook.ActionDone:
	case oncehook.ActionAlreadyDone:
		id.ReceiptID = o.DoneBy
	case oncehook.ActionRunning, oncehook.ActionFailed, oncehook.ActionUncertain, oncehook.ActionSuperseded:
		return nil
	}
	var (
		keyID  *int64
		sealed []byte
	)
	err := s.effects.QueryRow(ctx, `
		SELECT result_key_id, result FROM oncehook.actions WHERE receipt_id = $1 AND name = $2 AND epoch = $3`,
		id.ReceiptID, id.Name, id.Epoch).Scan(&keyID, &sealed)
	if errors.Is(err, pgx.ErrNoRows) || err == nil && keyID == nil {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read the stored result: %w", err)
	}
	key, err := s.dataKeyByID(ctx, c.Event.Tenant, *keyID)
	if err != nil {
		return fmt.Errorf("open the stored result: %w", err)
	}
	if o.Result, err = key.Open(sealed, resultAAD(c.Event.Tenant, id)); err != nil {
		return fmt.Errorf("open the stored result: %w", err)
	}
	return nil
}

// errBusinessKeyFreed asks for another claim. It is no wait: whoever gave the key
// up has sent its wake-ups already.
var errBusinessKeyFreed = errors.New("the business key has just become free")

// yieldBusinessKey settles a claim whose business key another event's action
// holds: already done by it, or waiting for it. A wait begins nothing, so it
// spends none of the run's attempts.
func (s *Work) yieldBusinessKey(ctx context.Context, tx pgx.Tx, q ClaimRequest, r receiptRow, c *Claim) (busy, err error) {
	var (
		holder uuid.UUID
		state  oncehook.ActionState
	)
	if err := lockFact(ctx, tx, r.tenant, q.BusinessKey); err != nil {
		return nil, err
	}
	err = tx.QueryRow(ctx, `
		SELECT receipt_id, state FROM oncehook.actions
		WHERE tenant = $1 AND name = $2 AND business_key = $3 AND epoch = $4 AND state IN ('running', 'uncertain', 'done')`,
		r.tenant, q.Name, q.BusinessKey, q.Epoch).Scan(&holder, &state)
	if errors.Is(err, pgx.ErrNoRows) {
		return errBusinessKeyFreed, nil
	}
	if err != nil {
		return nil, err
	}
	args := pgx.StrictNamedArgs{
		"id": q.ReceiptID, "name": q.Name, "epoch": q.Epoch, "key": r.key, "tenant": r.tenant, "kind": q.Kind, "run_no": q.RunNo,
		"idempotency_key": c.IdempotencyKey, "business_key": q.BusinessKey, "now": s.now(),
		"state": oncehook.ActionFailed, "waits_for": q.BusinessKey, "wait_until": nullTime(q.WaitUntil), "done_by": nil,
		"error": fmt.Sprintf("the business key is held by the %s action of receipt %s", state, holder),
	}
	if state == oncehook.ActionDone {
		args["state"], args["waits_for"], args["wait_until"], args["done_by"], args["error"] = oncehook.ActionAlreadyDone, nil, nil, &holder, nil
		c.Outcome = &ActionOutcome{State: oncehook.ActionAlreadyDone, DoneBy: holder}
	} else {
		busy = ErrBusinessKeyBusy
	}
	_, err = tx.Exec(ctx, `
		INSERT INTO oncehook.actions AS a (receipt_id, name, epoch, key, tenant, kind, state, run_no, run_attempts, idempotency_key, business_key,
			last_error, waits_for, wait_until, done_by, created_at, changed_at)
		VALUES (@id, @name, @epoch, @key, @tenant, @kind, @state, @run_no, 0, @idempotency_key, @business_key,
			@error, @waits_for, @wait_until, @done_by, @now, @now)
		ON CONFLICT (receipt_id, name, epoch) DO UPDATE SET
			state = excluded.state, claim = a.claim + 1, attempts = a.attempts + 1, run_no = excluded.run_no,
			run_attempts = CASE WHEN a.run_no = excluded.run_no THEN a.run_attempts ELSE 0 END,
			business_key = excluded.business_key, last_error = excluded.last_error, waits_for = excluded.waits_for,
			wait_until = excluded.wait_until, done_by = excluded.done_by, lease_until = NULL, next_attempt_at = NULL, changed_at = excluded.changed_at`, args)
	if err != nil || busy != nil {
		return busy, err
	}
	return nil, insertActionAudit(ctx, tx, s.audit(*c, string(oncehook.ActionAlreadyDone), "done by receipt "+holder.String()))
}

func isUniqueViolation(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && refused.Code == "23505"
}
