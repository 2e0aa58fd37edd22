package store

import (
	"context"
	"fmt"
	"time"
)

// Failure is one failed attempt.
type Failure struct {
	// Error is what an operator reads.
	Error string
	// NextAttemptAt is when the next attempt is due; zero when there is none.
	NextAttemptAt time.Time
	// Word is WordPermanent or WordRetriesExhausted when no attempt follows, else "".
	Word string
}

// FailAction records a failed attempt, in a transaction of its own since the
// attempt's is gone. An attempt that was taken over, or that turns out to have
// committed, is left as it is.
func (s *Work) FailAction(ctx context.Context, c Claim, f Failure) error {
	args := s.audit(c, "failed", f.Word)
	args["name"], args["epoch"], args["fence"] = c.Name, c.Epoch, c.Fence
	args["error"], args["word"], args["next"] = cleanText(f.Error), f.Word, nullTime(f.NextAttemptAt)
	_, err := s.effects.Exec(ctx, `
		WITH failed AS (
			UPDATE oncehook.actions SET state = CASE WHEN @word = '' THEN state ELSE 'failed' END, outcome = NULLIF(@word, ''),
				last_error = @error, next_attempt_at = @next, lease_until = NULL, changed_at = @at
			WHERE receipt_id = @receipt_id AND name = @name AND epoch = @epoch AND claim = @fence AND state = 'running'
			RETURNING receipt_id
		)
		INSERT INTO oncehook.audit (at, kind, outcome, receipt_id, source, tenant, principal, credential_version, action, run_no, actor,
			cause, correlation_id)
		SELECT @at, 'action', @outcome, f.receipt_id, @source, @tenant, NULLIF(@principal, ''), NULLIF(@credential_version, ''), @action,
			@run_no, @actor, @cause, @correlation_id
		FROM failed f WHERE @word <> ''`, args)
	if err != nil {
		return fmt.Errorf("record the failed attempt of %s: %w", c.Name, err)
	}
	return nil
}

func nullTime(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}
