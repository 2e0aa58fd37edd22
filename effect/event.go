package effect

import (
	"context"
	"time"

	"github.com/oncehook/oncehook/internal/store"
)

// StoredEvent is a received event: its identity, who sent it, its ordering
// signal and its decrypted body.
type StoredEvent = store.StoredEvent

type attemptKey struct{}

// attempt is what a context of an effect knows.
type attempt struct {
	claim store.Claim
	at    time.Time
}

// Event returns the event that the effect belongs to. Outside of an effect it
// is the zero StoredEvent. Its Body is nil once the payload is past its retention.
func Event(ctx context.Context) StoredEvent { return attemptOf(ctx).claim.Event }

// IdempotencyKey returns the key under which the effect happens once: the same
// in every attempt, run and replay. Outside of an effect it is "".
func IdempotencyKey(ctx context.Context) string { return attemptOf(ctx).claim.IdempotencyKey }

// ShortIdempotencyKey is IdempotencyKey in 55 characters, for downstreams that
// limit the length.
func ShortIdempotencyKey(ctx context.Context) string {
	c := attemptOf(ctx).claim
	if c.IdempotencyKey == "" {
		return ""
	}
	return c.Event.Key.ShortIdempotencyKey(c.Name, c.Epoch)
}

// Now returns when the attempt began, by the process's clock: the time to store.
func Now(ctx context.Context) time.Time { return attemptOf(ctx).at }

func attemptOf(ctx context.Context) attempt {
	a, _ := ctx.Value(attemptKey{}).(attempt)
	return a
}
