package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// remote asks to attempt a Keyed action.
func remote(receipt uuid.UUID) store.ClaimRequest {
	q := request(receipt, 1)
	q.Kind, q.WaitUntil = oncehook.KindKeyed, time.Now().Add(time.Hour)
	return q
}

var aDay = store.Send{Remembers: 24 * time.Hour, Call: 10 * time.Second} //nolint:gochecknoglobals // constant

func (s spine) claimRemote(t testing.TB, receipt uuid.UUID) store.Claim {
	t.Helper()
	claim, err := s.work.ClaimAction(t.Context(), remote(receipt))
	require.NoError(t, err)
	return claim
}

// passed moves the action's lease, call and key into the past, by so much.
func (s spine) passed(t testing.TB, d time.Duration) {
	t.Helper()
	_, err := s.db.Exec(t.Context(), `
		UPDATE oncehook.actions SET lease_until = lease_until - $1::interval, call_deadline = call_deadline - $1::interval,
			first_sent_at = first_sent_at - $1::interval, key_expires_at = key_expires_at - $1::interval`, d)
	require.NoError(t, err)
}

// ledger is the row's state, outcome and whether something is unanswered.
func (s spine) ledger(t testing.TB, receipt uuid.UUID) (state oncehook.ActionState, word string, unanswered bool) {
	t.Helper()
	require.NoError(t, s.db.QueryRow(t.Context(), `
		SELECT state, coalesce(outcome, ''), unanswered FROM oncehook.actions WHERE receipt_id = $1`, receipt).Scan(&state, &word, &unanswered))
	return state, word, unanswered
}

func done() store.RemoteEnd {
	return store.RemoteEnd{State: oncehook.ActionDone, Word: store.WordOK, Result: []byte(`{"id":7}`)}
}

func TestWhatIsSentIsStoredBeforeItIsSent(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	claim := s.claimRemote(t, event.ReceiptID)
	require.Zero(t, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE first_sent_at IS NOT NULL OR unanswered`))

	_, err := s.work.BeforeSend(t.Context(), claim, store.Send{Remembers: time.Hour, Call: time.Second, Reads: true})
	require.NoError(t, err)
	require.Zero(t, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE first_sent_at IS NOT NULL OR unanswered`), "a read begins no key's life")

	left, err := s.work.BeforeSend(t.Context(), claim, aDay)
	require.NoError(t, err)
	require.InDelta(t, 10, left.Seconds(), 2)
	require.Equal(t, 1, number(t, s.db, `
		SELECT count(*) FROM oncehook.actions WHERE unanswered AND call_deadline <= lease_until
			AND key_expires_at - first_sent_at = interval '24 hours' AND first_sent_at BETWEEN now() - interval '1 minute' AND now()`))

	var first time.Time
	require.NoError(t, s.db.QueryRow(t.Context(), `SELECT first_sent_at FROM oncehook.actions`).Scan(&first))
	_, err = s.work.BeforeSend(t.Context(), claim, aDay)
	require.NoError(t, err)
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE first_sent_at = $1`, first), "the key's life began with the first byte")
}

func TestACallEndsBeforeTheLeaseAndTheKeyDo(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	claim := s.claimRemote(t, s.queued(t, "event-1").ReceiptID)
	left, err := s.work.BeforeSend(t.Context(), claim, store.Send{Remembers: 24 * time.Hour, Call: time.Hour})
	require.NoError(t, err)
	require.LessOrEqual(t, left, time.Minute, "the lease")
	claim = s.claimRemote(t, s.queued(t, "event-2").ReceiptID)
	left, err = s.work.BeforeSend(t.Context(), claim, store.Send{Remembers: 3 * time.Second, Call: time.Hour})
	require.NoError(t, err)
	require.LessOrEqual(t, left, 3*time.Second, "the key's life")
}

func TestNothingIsSentWithoutAClaimATimeAndAKey(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		spoil func(t *testing.T, s spine, receipt uuid.UUID)
		want  error
	}{
		"a successor has the claim": {func(t *testing.T, s spine, receipt uuid.UUID) {
			s.passed(t, 2*time.Minute)
			s.claimRemote(t, receipt)
		}, store.ErrFenced},
		"the attempt ended": {func(t *testing.T, s spine, receipt uuid.UUID) {
			claim := s.holder(t, receipt)
			require.NoError(t, s.work.RecordRemote(t.Context(), claim, done()))
		}, store.ErrFenced},
		"the run ended":     {func(t *testing.T, s spine, receipt uuid.UUID) { s.finishRun(t, receipt) }, store.ErrFenced},
		"the lease is over": {func(t *testing.T, s spine, _ uuid.UUID) { s.passed(t, 2*time.Minute) }, store.ErrLeaseOver},
		"the key's life is over": {func(t *testing.T, s spine, _ uuid.UUID) {
			_, err := s.db.Exec(t.Context(), `UPDATE oncehook.actions SET key_expires_at = now()`)
			require.NoError(t, err)
		}, store.ErrKeyExpired},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpine(t)
			event := s.queued(t, "event-1")
			claim := s.claimRemote(t, event.ReceiptID)
			_, err := s.work.BeforeSend(t.Context(), claim, aDay)
			require.NoError(t, err)
			c.spoil(t, s, event.ReceiptID)
			_, err = s.work.BeforeSend(t.Context(), claim, aDay)
			require.ErrorIs(t, err, c.want)
			_, err = s.work.BeforeSend(t.Context(), claim, store.Send{Call: time.Second, Reads: true})
			require.ErrorIs(t, err, c.want, "reads are no exception")
		})
	}
}

// holder is the claim of the attempt that has it now.
func (s spine) holder(t testing.TB, receipt uuid.UUID) store.Claim {
	t.Helper()
	event, err := s.work.Event(t.Context(), receipt)
	require.NoError(t, err)
	c := store.Claim{ActionID: remote(receipt).ActionID, Kind: oncehook.KindKeyed, RunNo: 1, Event: event}
	require.NoError(t, s.db.QueryRow(t.Context(), `SELECT claim FROM oncehook.actions WHERE receipt_id = $1`, receipt).Scan(&c.Fence))
	return c
}

func TestASuccessorWaitsOutLeaseAndCall(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	s.claimRemote(t, event.ReceiptID)
	ask := func() time.Duration {
		_, err := s.work.ClaimAction(t.Context(), remote(event.ReceiptID))
		var leased *store.LeasedError
		require.ErrorAs(t, err, &leased)
		return leased.Wait
	}
	require.InDelta(t, 60, ask().Seconds(), 5)
	_, err := s.db.Exec(t.Context(), `UPDATE oncehook.actions SET lease_until = now() - interval '1 second', call_deadline = now() + interval '20 seconds'`)
	require.NoError(t, err)
	require.InDelta(t, 20, ask().Seconds(), 5, "the call outlasts the lease")
	require.Equal(t, 1, number(t, s.db, `SELECT claim FROM oncehook.actions`), "nothing was taken over")
	s.passed(t, time.Minute)
	next := s.claimRemote(t, event.ReceiptID)
	require.EqualValues(t, 2, next.Fence)
	require.Equal(t, 2, next.RunAttempts)
}

func TestAnAttemptThatSaysHowItEndedIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	claim := s.claimRemote(t, event.ReceiptID)
	_, err := s.work.BeforeSend(t.Context(), claim, aDay)
	require.NoError(t, err)
	require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "timeout", NextAttemptAt: time.Now()}))
	next := s.claimRemote(t, event.ReceiptID)
	require.True(t, next.Unanswered)
	require.Equal(t, claim.IdempotencyKey, next.IdempotencyKey)
}

func TestOnlyTheHighestClaimRecordsAResult(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	old := s.claimRemote(t, event.ReceiptID)
	_, err := s.work.BeforeSend(t.Context(), old, aDay)
	require.NoError(t, err)
	s.passed(t, 2*time.Minute)
	current := s.claimRemote(t, event.ReceiptID)

	require.ErrorIs(t, s.work.RecordRemote(t.Context(), old, done()), store.ErrFenced)
	require.NoError(t, s.work.FailAction(t.Context(), old, store.Failure{Error: "late", Word: store.WordPermanent, Answered: true}))
	state, _, unanswered := s.ledger(t, event.ReceiptID)
	require.Equal(t, oncehook.ActionRunning, state)
	require.True(t, unanswered)
	require.Zero(t, number(t, s.db, `SELECT count(*) FROM oncehook.audit WHERE kind = 'action'`))

	require.NoError(t, s.work.RecordRemote(t.Context(), current, done()))
	require.ErrorIs(t, s.work.RecordRemote(t.Context(), old, done()), store.ErrFenced)
	again := s.claimRemote(t, event.ReceiptID)
	require.Equal(t, &store.ActionOutcome{State: oncehook.ActionDone, Word: store.WordOK, Result: []byte(`{"id":7}`)}, again.Outcome)
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = 'done'`))
}

func TestAnotherRunsClaimIsRefused(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	q := remote(event.ReceiptID)
	q.RunNo = 2
	_, err := s.work.ClaimAction(t.Context(), q)
	require.ErrorIs(t, err, store.ErrStaleRun)
}

func TestPastTheKeysLifeAnActionIsUncertain(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	claim := s.claimRemote(t, event.ReceiptID)
	_, err := s.work.BeforeSend(t.Context(), claim, aDay)
	require.NoError(t, err)
	require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "timeout", NextAttemptAt: time.Now()}))
	s.passed(t, 24*time.Hour)
	for range 2 {
		late := s.claimRemote(t, event.ReceiptID)
		require.Equal(t, oncehook.ActionUncertain, late.Outcome.State)
		require.Equal(t, store.WordKeyExpired, late.Outcome.Word)
	}
	require.ErrorIs(t, s.work.RecordRemote(t.Context(), claim, done()), store.ErrFenced, "what the attempt still learns is too late")
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = 'uncertain' AND cause = 'key_expired'`))
	receipt, err := openAdmin(t, options(s.url)).Receipt(t.Context(), everything, event.ReceiptID)
	require.NoError(t, err)
	require.Equal(t, oncehook.StatusUncertain, receipt.Status)
}

func TestTheKeysLifeBeginsAnewWhenNothingHadAnEffect(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	claim := s.claimRemote(t, event.ReceiptID)
	_, err := s.work.BeforeSend(t.Context(), claim, aDay)
	require.NoError(t, err)
	require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "429", NextAttemptAt: time.Now(), Answered: true}))
	s.passed(t, 48*time.Hour)
	claim = s.claimRemote(t, event.ReceiptID)
	require.Nil(t, claim.Outcome)
	_, err = s.work.BeforeSend(t.Context(), claim, aDay)
	require.NoError(t, err)
}

func TestAnActionThatEndsWithoutAnAnswerIsUncertain(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		sent     bool
		answered bool
		earlier  bool // an earlier attempt is unanswered
		word     string
		want     oncehook.ActionState
	}{
		"nothing was sent":                    {false, true, false, store.WordRetriesExhausted, oncehook.ActionFailed},
		"refused":                             {true, true, false, store.WordPermanent, oncehook.ActionFailed},
		"no answer":                           {true, false, false, store.WordRetriesExhausted, oncehook.ActionUncertain},
		"refused, but an earlier one was not": {true, true, true, store.WordPermanent, oncehook.ActionUncertain},
		"not sent, but an earlier one was":    {false, true, true, store.WordPermanent, oncehook.ActionUncertain},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpine(t)
			event := s.queued(t, "event-1")
			claim := s.claimRemote(t, event.ReceiptID)
			if c.earlier {
				_, err := s.work.BeforeSend(t.Context(), claim, aDay)
				require.NoError(t, err)
				require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "timeout", NextAttemptAt: time.Now()}))
				claim = s.claimRemote(t, event.ReceiptID)
			}
			if c.sent {
				_, err := s.work.BeforeSend(t.Context(), claim, aDay)
				require.NoError(t, err)
			}
			require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "x", Word: c.word, Answered: c.answered}))
			state, word, _ := s.ledger(t, event.ReceiptID)
			require.Equal(t, c.want, state)
			require.Equal(t, c.word, word)
			require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = $1`, string(c.want)))
		})
	}
}

func TestTheEndOfARunLeavesNothingOpen(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sent bool
		want oncehook.ActionState
	}{"nothing was sent": {false, oncehook.ActionFailed}, "something was": {true, oncehook.ActionUncertain}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpine(t)
			event := s.queued(t, "event-1")
			claim := s.claimRemote(t, event.ReceiptID)
			if c.sent {
				_, err := s.work.BeforeSend(t.Context(), claim, aDay)
				require.NoError(t, err)
			}
			s.finishRun(t, event.ReceiptID)
			state, word, _ := s.ledger(t, event.ReceiptID)
			require.Equal(t, c.want, state)
			require.Equal(t, store.WordRunEnded, word)
			_, err := s.work.BeforeSend(t.Context(), claim, aDay)
			require.ErrorIs(t, err, store.ErrFenced)
			err = s.work.RecordRemote(t.Context(), claim, done())
			if !c.sent {
				require.ErrorIs(t, err, store.ErrFenced)
				return
			}
			require.NoError(t, err, "the attempt under way says what happened")
			state, _, unanswered := s.ledger(t, event.ReceiptID)
			require.Equal(t, oncehook.ActionDone, state)
			require.False(t, unanswered)
			require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = 'uncertain'`))
		})
	}
}

func TestALaterRunFindsOutUnderTheSameKeyWhileItLives(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		later   time.Duration
		outcome bool
	}{"within the key's life": {time.Hour, false}, "after it": {25 * time.Hour, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpine(t)
			event := s.queued(t, "event-1")
			first := s.claimRemote(t, event.ReceiptID)
			_, err := s.work.BeforeSend(t.Context(), first, aDay)
			require.NoError(t, err)
			s.finishRun(t, event.ReceiptID)
			s.passed(t, c.later)
			_, err = s.db.Exec(t.Context(), `UPDATE oncehook.receipts SET state = 'queued', version = version + 1, run_no = 2`)
			require.NoError(t, err)
			q := remote(event.ReceiptID)
			q.RunNo = 2
			claim, err := s.work.ClaimAction(t.Context(), q)
			require.NoError(t, err)
			if c.outcome {
				require.Equal(t, store.WordKeyExpired, claim.Outcome.Word)
				return
			}
			require.Nil(t, claim.Outcome)
			require.Equal(t, first.IdempotencyKey, claim.IdempotencyKey)
			_, err = s.work.BeforeSend(t.Context(), claim, aDay)
			require.NoError(t, err)
		})
	}
}

func TestALaterRunWaitsOutACallOfTheEarlierOne(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	_, err := s.work.BeforeSend(t.Context(), s.claimRemote(t, event.ReceiptID), aDay)
	require.NoError(t, err)
	s.finishRun(t, event.ReceiptID)
	_, err = s.db.Exec(t.Context(), `UPDATE oncehook.receipts SET state = 'queued', version = version + 1, run_no = 2`)
	require.NoError(t, err)
	q := remote(event.ReceiptID)
	q.RunNo = 2
	_, err = s.work.ClaimAction(t.Context(), q)
	var leased *store.LeasedError
	require.ErrorAs(t, err, &leased, "it may still be sending")
	require.InDelta(t, 10, leased.Wait.Seconds(), 5)
	s.passed(t, time.Minute)
	claim, err := s.work.ClaimAction(t.Context(), q)
	require.NoError(t, err)
	require.Nil(t, claim.Outcome)
}
