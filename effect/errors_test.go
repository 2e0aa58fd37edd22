package effect

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func policyOf(attempt int32, left time.Duration) backoff {
	return backoff{policy: *defaultPolicy(), attempt: attempt, left: left}
}

func TestClassifyIsTotal(t *testing.T) {
	t.Parallel()
	plain := errors.New("because")
	cases := map[string]struct {
		err     error
		errType string
		final   bool
		word    string
		spent   string // its type once the attempts are used up
	}{
		"ignore":         {oncehook.Ignore("because"), oncehook.FailureIgnored, true, "", oncehook.FailureIgnored},
		"superseded":     {oncehook.Superseded("because"), oncehook.FailureSuperseded, true, "", oncehook.FailureSuperseded},
		"permanent":      {oncehook.Permanent(plain), oncehook.FailurePermanent, true, "permanent", oncehook.FailurePermanent},
		"retry after":    {oncehook.RetryAfter(plain, time.Second), oncehook.FailureRetryable, false, "", oncehook.FailureExhausted},
		"not yet":        {oncehook.NotYet("because"), oncehook.FailureNotYet, false, "", oncehook.FailureExhausted},
		"uncertain":      {oncehook.Uncertain(plain), oncehook.FailureUncertain, false, "", oncehook.FailureExhausted},
		"plain":          {plain, oncehook.FailureRetryable, false, "", oncehook.FailureExhausted},
		"wrapped":        {fmt.Errorf("arrive: %w", oncehook.Permanent(plain)), oncehook.FailurePermanent, true, "permanent", oncehook.FailurePermanent},
		"panic":          {&panicError{"because"}, oncehook.FailurePanic, false, "", oncehook.FailureExhausted},
		"fenced":         {store.ErrFenced, oncehook.FailureUnavailable, false, "", oncehook.FailureUnavailable},
		"commit unknown": {fmt.Errorf("%w: %w", store.ErrCommitUnknown, plain), oncehook.FailureUnavailable, false, "", oncehook.FailureUnavailable},
		"too large":      {store.ErrResultTooLarge, oncehook.FailurePermanent, true, "permanent", oncehook.FailurePermanent},
		"not recorded":   {unrecorded{plain}, oncehook.FailureUnavailable, false, "", oncehook.FailureUnavailable},
		"key expired":    {fmt.Errorf("send: %w", store.ErrKeyExpired), oncehook.FailureUnavailable, false, "", oncehook.FailureUnavailable},
		"lease over":     {fmt.Errorf("send: %w", store.ErrLeaseOver), oncehook.FailureRetryable, false, "", oncehook.FailureExhausted},
		"no JSON":        {fmt.Errorf("%w: %w", errResult, plain), oncehook.FailurePermanent, true, "permanent", oncehook.FailurePermanent},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := classify(c.err, policyOf(1, time.Hour), false)
			require.Equal(t, c.errType, f.errType)
			require.Equal(t, c.final, f.final)
			require.Equal(t, c.word, f.word)
			require.Equal(t, c.spent, classify(c.err, policyOf(10, time.Hour), true).errType)
			require.Equal(t, c.spent, classify(c.err, policyOf(2, 0), false).errType, "no time is left")

			var told *temporal.ApplicationError
			require.ErrorAs(t, f.asTemporal(), &told)
			require.Equal(t, f.asTemporal(), error(told), "outermost: nothing wraps it")
			require.Equal(t, c.final, told.NonRetryable())
			if !c.final {
				require.Positive(t, told.NextRetryDelay())
			}
			require.NoError(t, errors.Unwrap(told), "no cause crosses the boundary")
		})
	}
}

func TestClaimErrorsSpendNoAttempt(t *testing.T) {
	t.Parallel()
	for err, final := range map[error]bool{
		store.ErrStaleRun: true, store.ErrRunEnded: true, store.ErrNotFound: true,
		store.ErrBusinessKeyBusy: false, errors.New("connection refused"): false,
	} {
		f := classifyClaim(fmt.Errorf("claim: %w", err), policyOf(50, time.Hour), envelope{})
		require.True(t, f.unclaimed)
		require.Equal(t, final, f.final, err)
	}
}

func TestAClaimThatMustWaitSaysHowLong(t *testing.T) {
	t.Parallel()
	f := classifyClaim(fmt.Errorf("claim: %w", &store.LeasedError{Wait: 25 * time.Second}), policyOf(1, time.Hour), envelope{})
	require.Equal(t, 25*time.Second, f.delay)
	require.False(t, f.final)

	waiting := envelope{BusinessKey: "invoice-42", WaitUntil: time.Now().Add(time.Hour)}
	f = classifyClaim(fmt.Errorf("claim: %w", store.ErrBusinessKeyBusy), policyOf(1, time.Hour), waiting)
	require.Equal(t, oncehook.FailureNotYet, f.errType)
	require.True(t, f.final, "the run waits, not the attempt")
	require.Contains(t, f.text, "waits for invoice-42")
}

func TestAnOutageLongerThanTheBudgetGivesNothingUp(t *testing.T) {
	t.Parallel()
	c := calling{}.fill("")
	require.Equal(t, DefaultBudget, c.budget)
	require.GreaterOrEqual(t, c.limit, DefaultBudget+48*time.Hour, "Temporal's own timeout ends what never began")
	c = calling{budget: 5 * time.Second}.fill("")
	require.Equal(t, 5*time.Second, c.limit, "the engineer's own stays")
}

func TestAnAttemptThatBeginsLateIsBoundedByItsNumber(t *testing.T) {
	t.Parallel()
	now := time.Now()
	call := envelope{Deadline: now.Add(-time.Minute)}
	b := backoffOf(activity.Info{Attempt: 9}, call.deadline(now))
	require.False(t, classify(errors.New("because"), b, false).final)
	require.True(t, classify(errors.New("because"), b, true).final)
	away := classifyClaim(&store.LeasedError{Wait: 25 * time.Second}, b, call)
	require.Equal(t, 25*time.Second, away.delay, "no haste in an outage")

	b = backoffOf(activity.Info{Attempt: 9}, call.deadline(now.Add(-2*time.Minute)))
	require.True(t, classify(errors.New("because"), b, false).final, "it began in time, and the time is over")
}

func TestErrorTextIsCut(t *testing.T) {
	t.Parallel()
	f := classify(errors.New(strings.Repeat("é", 4000)+"\xff"), policyOf(1, time.Hour), false)
	var told *temporal.ApplicationError
	require.ErrorAs(t, f.asTemporal(), &told)
	require.LessOrEqual(t, len(told.Message()), maxErrorText)
	require.True(t, strings.HasSuffix(told.Message(), "é…"))
}

func TestJitterIsFullAndBounded(t *testing.T) {
	t.Parallel()
	for attempt, limit := range map[int32]time.Duration{
		0: time.Second, 1: time.Second, 2: 2 * time.Second, 4: 8 * time.Second, 9: time.Minute, 5000: time.Minute,
	} {
		low, high := time.Hour, time.Duration(0)
		for range 2000 {
			delay := policyOf(attempt, -1).jittered()
			require.GreaterOrEqual(t, delay, leastDelay)
			require.LessOrEqual(t, delay, limit)
			low, high = min(low, delay), max(high, delay)
		}
		require.Less(t, low, limit/10)
		require.Greater(t, high, limit*9/10)
	}
}

func TestRetryAfterIsCutToTheBudget(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		left, delay, want time.Duration
		inTime            bool
	}{
		"no bound":         {-1, time.Hour, time.Hour, true},
		"within":           {time.Hour, time.Minute, time.Minute, true},
		"beyond":           {time.Hour, 2 * time.Hour, time.Hour - lastAttempt, true},
		"little time left": {4 * time.Second, time.Minute, 2 * time.Second, true},
		"none left":        {0, time.Minute, leastDelay, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			delay, inTime := policyOf(1, c.left).within(c.delay)
			require.Equal(t, c.want, delay)
			require.Equal(t, c.inTime, inTime)
		})
	}
}

func TestStoredOutcomesAnswerAsTheFirstTime(t *testing.T) {
	t.Parallel()
	for want, o := range map[string]store.ActionOutcome{
		oncehook.FailureIgnored:    {State: oncehook.ActionDone, Word: store.WordIgnored},
		oncehook.FailureSuperseded: {State: oncehook.ActionSuperseded},
		oncehook.FailureUncertain:  {State: oncehook.ActionUncertain, Word: store.WordKeyExpired},
		oncehook.FailurePermanent:  {State: oncehook.ActionFailed, Word: store.WordPermanent},
		oncehook.FailureExhausted:  {State: oncehook.ActionFailed, Word: store.WordRetriesExhausted},
		oncehook.FailureStaleRun:   {State: oncehook.ActionFailed, Word: store.WordRunEnded},
	} {
		f := outcomeFailure(o)
		require.NotNil(t, f)
		require.Equal(t, want, f.errType)
		require.True(t, f.final)
	}
	require.Nil(t, outcomeFailure(store.ActionOutcome{State: oncehook.ActionDone, Word: store.WordOK}))
	require.Nil(t, outcomeFailure(store.ActionOutcome{State: oncehook.ActionAlreadyDone}))
}
