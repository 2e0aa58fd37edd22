package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// HandBack ends an attempt that its stopping worker broke off: the action may be
// claimed again at once, and the attempt does not count towards the run's. In
// attempts it stays, since it was begun. answered says that nothing which it sent
// had an effect. An attempt that was taken over, or that turns out to have
// committed, is left as it is.
func (s *Work) HandBack(ctx context.Context, c Claim, answered bool) error {
	_, err := s.effects.Exec(ctx, `
		UPDATE oncehook.actions SET run_attempts = greatest(run_attempts - 1, 0), unanswered = unanswered AND NOT @answered,
			lease_until = NULL, call_deadline = NULL, next_attempt_at = @now, changed_at = @now
		WHERE receipt_id = @receipt_id AND name = @name AND epoch = @epoch AND claim = @fence AND state = 'running'`,
		pgx.StrictNamedArgs{
			"receipt_id": c.ReceiptID, "name": c.Name, "epoch": c.Epoch, "fence": c.Fence,
			"answered": answered && !c.Unanswered, "now": s.now(),
		})
	if err != nil {
		return fmt.Errorf("hand back the attempt of %s: %w", c.Name, err)
	}
	return nil
}
