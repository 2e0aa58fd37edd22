package effect

import (
	"math"
	"math/rand/v2"
	"strings"
	"time"
	"unicode/utf8"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
)

// backoff computes when the next attempt is due.
type backoff struct {
	policy  temporal.RetryPolicy
	attempt int32
	// left is the budget that remains; negative when there is no bound.
	left time.Duration
}

const (
	// leastDelay is above zero, which Temporal takes for no delay of ours.
	leastDelay = 10 * time.Millisecond
	// lastAttempt is what a delay leaves of the budget for the attempt it leads to.
	lastAttempt = 5 * time.Second
)

func backoffOf(info activity.Info, deadline time.Time) backoff {
	policy := info.RetryPolicy
	if policy == nil || policy.InitialInterval <= 0 {
		policy = defaultPolicy()
	}
	b := backoff{policy: *policy, attempt: info.Attempt, left: -1}
	if !deadline.IsZero() {
		b.left = max(0, time.Until(deadline))
	}
	return b
}

// jittered draws a delay up to the policy's exponential interval: the server
// adds no jitter, so that events which failed together would come back together.
func (b backoff) jittered() time.Duration {
	interval := float64(b.policy.InitialInterval) * math.Pow(max(b.policy.BackoffCoefficient, 1), float64(max(b.attempt, 1)-1))
	limit := float64(b.policy.MaximumInterval)
	if limit <= 0 {
		limit = float64(defaultMaximumInterval)
	}
	interval = min(interval, limit)                                // also of an interval that overflowed
	return max(leastDelay, time.Duration(rand.Float64()*interval)) //nolint:gosec // spreads load, guards nothing
}

// within cuts a delay to the budget, with time left for the attempt itself. It
// returns false when no time is left.
func (b backoff) within(delay time.Duration) (time.Duration, bool) {
	if b.left < 0 {
		return delay, true
	}
	room := b.left - min(lastAttempt, b.left/2)
	if room < leastDelay {
		return leastDelay, false
	}
	return min(delay, room), true
}

// maxErrorText keeps a failure below what Temporal stores unshortened.
const maxErrorText = 1024

// cut makes text valid UTF-8 of at most maxErrorText bytes.
func cut(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= maxErrorText {
		return text
	}
	end := maxErrorText - len("…")
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end] + "…"
}
