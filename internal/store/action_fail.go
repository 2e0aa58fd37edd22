package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Failure is one failed attempt.
type Failure struct {
	// Error is what an operator reads.
	Error string
	// NextAttemptAt is when the next attempt is due; zero when there is none.
	NextAttemptAt time.Time
	// Word is WordPermanent or WordRetriesExhausted when no attempt follows, else "".
	Word string
	// Answered says that nothing which this attempt sent had an effect, or that it
	// sent nothing. What earlier attempts sent stays unanswered.
	Answered bool
}

// FailAction records a failed attempt, in a transaction of its own since the
// attempt's is gone. An attempt that was taken over, or that turns out to have
// committed, is left as it is. When no attempt follows the action has failed, or
// is uncertain where something that was sent is unanswered.
func (s *Work) FailAction(ctx context.Context, c Claim, f Failure) error {
	answered := f.Answered && !c.Unanswered
	args := s.audit(c, "failed", f.Word)
	args["name"], args["epoch"], args["fence"] = c.Name, c.Epoch, c.Fence
	args["error"], args["word"], args["next"], args["answered"] = cleanText(f.Error), f.Word, nullTime(f.NextAttemptAt), answered
	err := pgx.BeginFunc(ctx, s.effects, func(tx pgx.Tx) error {
		tag, err := tx.Exec(ctx, failAction, args)
		if err != nil || tag.RowsAffected() == 0 {
			return err
		}
		return wake(ctx, tx, c.Event.Tenant, c.BusinessKey)
	})
	if err != nil {
		return fmt.Errorf("record the failed attempt of %s: %w", c.Name, err)
	}
	return nil
}

// failAction returns one row when the action has ended.
const failAction = `
WITH failed AS (
	UPDATE oncehook.actions SET
		state = CASE WHEN @word = '' THEN state WHEN unanswered AND NOT @answered THEN 'uncertain' ELSE 'failed' END,
		outcome = NULLIF(@word, ''), unanswered = unanswered AND NOT @answered,
		last_error = @error, next_attempt_at = @next, lease_until = NULL, call_deadline = NULL, changed_at = @at
	WHERE receipt_id = @receipt_id AND name = @name AND epoch = @epoch AND claim = @fence AND state = 'running'
	RETURNING receipt_id, state
)
INSERT INTO oncehook.audit (at, kind, outcome, receipt_id, source, tenant, principal, credential_version, action, run_no, actor,
	cause, correlation_id)
SELECT @at, 'action', CASE WHEN f.state = 'uncertain' THEN 'uncertain' ELSE @outcome END, f.receipt_id, @source, @tenant,
	NULLIF(@principal, ''), NULLIF(@credential_version, ''), @action, @run_no, @actor, @cause, @correlation_id
FROM failed f WHERE @word <> ''`

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
