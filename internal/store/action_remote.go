package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// A remote effect is sent outside of any transaction. What stands in its place:
// BeforeSend is committed before the first byte, and the row's claim counter lets
// only the latest attempt send and record.

// Send asks for the permission to send.
type Send struct {
	// Remembers is how long the downstream honours the idempotency key.
	Remembers time.Duration
	// Call is how long the call takes at most.
	Call time.Duration
	// Reads says that the call changes nothing, so that no key's life begins.
	Reads bool
}

// BeforeSend checks, immediately before a send, that the attempt has its claim,
// that its time is not over and that the downstream still knows the key, and
// stores that something is sent. It returns how long the call may take: neither
// the lease nor the key ends before. Its errors ErrFenced, ErrLeaseOver and
// ErrKeyExpired, and any other, mean that nothing may be sent.
func (s *Work) BeforeSend(ctx context.Context, c Claim, send Send) (time.Duration, error) {
	var left float64
	err := s.effects.QueryRow(ctx, `
		UPDATE oncehook.actions SET
			first_sent_at = CASE WHEN @reads THEN first_sent_at ELSE coalesce(first_sent_at, now()) END,
			key_expires_at = CASE WHEN @reads THEN key_expires_at ELSE coalesce(key_expires_at, now() + @remembers::interval) END,
			unanswered = unanswered OR NOT @reads,
			call_deadline = least(lease_until, clock_timestamp() + @call::interval)
		WHERE receipt_id = @receipt_id AND name = @name AND epoch = @epoch AND claim = @fence AND state = 'running'
			AND lease_until > clock_timestamp() AND (key_expires_at IS NULL OR key_expires_at > clock_timestamp())
		RETURNING extract(epoch FROM least(call_deadline, key_expires_at) - clock_timestamp())::float8`, pgx.StrictNamedArgs{
		"receipt_id": c.ReceiptID, "name": c.Name, "epoch": c.Epoch, "fence": c.Fence,
		"remembers": send.Remembers, "call": send.Call, "reads": send.Reads,
	}).Scan(&left)
	if errors.Is(err, pgx.ErrNoRows) {
		err = s.whyNot(ctx, c)
	}
	if err != nil {
		return 0, fmt.Errorf("send for %s: %w", c.Name, err)
	}
	return time.Duration(left * float64(time.Second)), nil
}

// whyNot says why nothing may be sent.
func (s *Work) whyNot(ctx context.Context, c Claim) error {
	var expired bool
	err := s.effects.QueryRow(ctx, `
		SELECT coalesce(key_expires_at <= clock_timestamp(), false) FROM oncehook.actions
		WHERE receipt_id = $1 AND name = $2 AND epoch = $3 AND claim = $4 AND state = 'running'`,
		c.ReceiptID, c.Name, c.Epoch, c.Fence).Scan(&expired)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return ErrFenced
	case err != nil:
		return err
	case expired:
		return ErrKeyExpired
	}
	return ErrLeaseOver
}

// RemoteEnd is how an attempt of a remote effect ended the action.
type RemoteEnd struct {
	// State is done or superseded, Word WordOK, WordIgnored or "superseded".
	State  oncehook.ActionState
	Word   string
	Reason string
	// Result is what the effect returned.
	Result []byte
}

// RecordRemote records the end of a remote action, with its evidence and its
// wake-ups, if no later attempt has taken the action over; else it returns
// ErrFenced. A run that ended meanwhile left the action uncertain: then this is
// the answer.
func (s *Work) RecordRemote(ctx context.Context, c Claim, end RemoteEnd) error {
	if len(end.Result) > MaxResult {
		return fmt.Errorf("record %s: %w", c.Name, ErrResultTooLarge)
	}
	key, keyID, err := s.dataKey(ctx, c.Event.Tenant)
	if err != nil {
		return fmt.Errorf("record %s: %w", c.Name, err)
	}
	args := pgx.StrictNamedArgs{
		"receipt_id": c.ReceiptID, "name": c.Name, "epoch": c.Epoch, "fence": c.Fence, "state": end.State, "word": end.Word,
		"reason": cleanText(end.Reason), "key_id": nil, "result": nil, "now": s.now(),
	}
	if end.Result != nil {
		sealed, err := key.Seal(end.Result, resultAAD(c.Event.Tenant, c.ActionID))
		if err != nil {
			return fmt.Errorf("record %s: %w", c.Name, err)
		}
		args["key_id"], args["result"] = keyID, sealed
	}
	err = pgx.BeginFunc(ctx, s.effects, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, `
			UPDATE oncehook.actions SET state = @state, outcome = @word, reason = NULLIF(@reason, ''), result_key_id = @key_id, result = @result,
				business_key = CASE WHEN @word <> '`+WordIgnored+`' THEN business_key END, unanswered = false, lease_until = NULL, call_deadline = NULL, next_attempt_at = NULL, waits_for = NULL, wait_until = NULL,
				changed_at = @now
			WHERE receipt_id = @receipt_id AND name = @name AND epoch = @epoch AND claim = @fence
				AND (state = 'running' OR state = 'uncertain' AND outcome = 'run_ended')`, args)
		if err != nil {
			return err
		}
		if tag.RowsAffected() != 1 {
			return ErrFenced
		}
		evidence := localEnd{state: end.State, word: end.Word}.evidence()
		if err := insertActionAudit(ctx, tx, s.audit(c, evidence, end.Reason)); err != nil {
			return err
		}
		return wake(ctx, tx, c.Event.Tenant, c.BusinessKey)
	})
	if err != nil {
		return fmt.Errorf("record %s: %w", c.Name, err)
	}
	return nil
}

// expire makes an action uncertain whose key the downstream may have forgotten.
// The counter rises: what an earlier attempt still learns is too late.
func (s *Work) expire(ctx context.Context, tx pgx.Tx, q ClaimRequest, c *Claim) error {
	reason := ErrKeyExpired.Error() + ": something was sent, and what came of it is unknown"
	_, err := tx.Exec(ctx, `
		UPDATE oncehook.actions SET state = 'uncertain', outcome = @word, reason = @reason, claim = claim + 1, run_no = @run_no,
			lease_until = NULL, call_deadline = NULL, next_attempt_at = NULL, waits_for = NULL, wait_until = @wait_until, changed_at = @now
		WHERE receipt_id = @receipt_id AND name = @name AND epoch = @epoch`, pgx.StrictNamedArgs{
		"receipt_id": q.ReceiptID, "name": q.Name, "epoch": q.Epoch, "run_no": q.RunNo, "word": WordKeyExpired, "reason": reason,
		"wait_until": nullTime(q.WaitUntil), "now": s.now(),
	})
	if err != nil {
		return err
	}
	c.Outcome = &ActionOutcome{State: oncehook.ActionUncertain, Word: WordKeyExpired, Reason: reason}
	return insertActionAudit(ctx, tx, s.audit(*c, string(oncehook.ActionUncertain), WordKeyExpired))
}
