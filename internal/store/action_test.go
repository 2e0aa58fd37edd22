package store_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

const action = "logistics.record_arrival"

func request(receipt uuid.UUID, runNo int) store.ClaimRequest {
	return store.ClaimRequest{
		ActionID: store.ActionID{ReceiptID: receipt, Name: action, Epoch: 1}, RunNo: runNo, Kind: oncehook.KindLocal,
		Lease: time.Minute, MaxAttempts: 10,
	}
}

func (s spine) claimAction(t testing.TB, receipt uuid.UUID, runNo int) store.Claim {
	t.Helper()
	claim, err := s.work.ClaimAction(t.Context(), request(receipt, runNo))
	require.NoError(t, err)
	return claim
}

func succeeds(context.Context, pgx.Tx) ([]byte, error) { return []byte(`{"version":1}`), nil }

// writes makes an effect that is counted in a table of the test's own.
func (s spine) effects(t testing.TB) {
	t.Helper()
	_, err := s.db.Exec(t.Context(), `CREATE TABLE public.effects (key text)`)
	require.NoError(t, err)
}

func writes(ctx context.Context, tx pgx.Tx) ([]byte, error) {
	_, err := tx.Exec(ctx, `INSERT INTO public.effects VALUES ('done')`)
	return []byte(`"written"`), err
}

func (s spine) counted(t testing.TB) int {
	t.Helper()
	return number(t, s.db, `SELECT count(*) FROM public.effects`)
}

func TestFirstClaimMovesTheReceiptAndReadsTheEvent(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")

	claim := s.claimAction(t, event.ReceiptID, 1)
	require.Nil(t, claim.Outcome)
	require.EqualValues(t, 1, claim.Fence)
	require.Equal(t, 1, claim.RunAttempts)
	require.Equal(t, string(event.Key)+":"+action, claim.IdempotencyKey)
	require.Equal(t, event.Event.Body, claim.Event.Body)
	require.Equal(t, "sender", claim.Event.Principal)
	require.Equal(t, "1", claim.Event.CredentialVersion)
	require.Equal(t, event.CorrelationID, claim.Event.CorrelationID)
	require.True(t, event.Event.OccurredAt.Equal(claim.Event.OccurredAt))
	require.Equal(t, []string{"received accept", "queued dispatch", "processing first_action"}, s.history(t, event.ReceiptID))

	again := s.claimAction(t, event.ReceiptID, 1)
	require.EqualValues(t, 2, again.Fence)
	require.Equal(t, 2, again.RunAttempts)
	require.Len(t, s.history(t, event.ReceiptID), 3, "one transition, however many claims")

	stored, err := s.work.Event(t.Context(), event.ReceiptID)
	require.NoError(t, err)
	require.Equal(t, again.Event.Body, stored.Body)
	_, err = s.work.Event(t.Context(), uuid.New())
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestEventWhosePayloadIsGoneHasNoBody(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	_, err := s.db.Exec(t.Context(), `DELETE FROM oncehook.payloads`)
	require.NoError(t, err)
	claim := s.claimAction(t, event.ReceiptID, 1)
	require.Nil(t, claim.Event.Body)
	require.Equal(t, "sender", claim.Event.Principal)
}

func TestDoneActionReturnsItsStoredResult(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	event := s.queued(t, "event-1")
	require.NoError(t, s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), writes))

	again := s.claimAction(t, event.ReceiptID, 1)
	require.Equal(t, &store.ActionOutcome{State: oncehook.ActionDone, Word: store.WordOK, Result: []byte(`"written"`)}, again.Outcome)
	require.Equal(t, 1, s.counted(t))
	require.Zero(t, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE position('written' in encode(result, 'escape')) > 0`), "sealed")
	require.Equal(t, 1, number(t, s.db, `
		SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = 'done' AND principal = 'sender' AND credential_version = '1'
			AND action = $1 AND receipt_id = $2 AND tenant = 'north'`, action, event.ReceiptID))
}

func TestFencedAttemptCannotCommit(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	event := s.queued(t, "event-1")
	old := s.claimAction(t, event.ReceiptID, 1)
	current := s.claimAction(t, event.ReceiptID, 1)

	require.ErrorIs(t, s.work.RunLocal(t.Context(), old, writes), store.ErrFenced)
	require.Zero(t, s.counted(t))
	require.NoError(t, s.work.FailAction(t.Context(), old, store.Failure{Error: "late", Word: store.WordPermanent}), "says nothing about the current attempt")
	require.NoError(t, s.work.RunLocal(t.Context(), current, writes))
	require.ErrorIs(t, s.work.RunLocal(t.Context(), current, writes), store.ErrFenced, "an attempt commits once")
	require.Equal(t, 1, s.counted(t))
}

func TestNobodyTakesOverAnAttemptInItsTransaction(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	event := s.queued(t, "event-1")
	claim := s.claimAction(t, event.ReceiptID, 1)
	inside, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- s.work.RunLocal(context.Background(), claim, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			close(inside)
			<-release
			return writes(ctx, tx)
		})
	}()
	<-inside
	_, err := s.work.ClaimAction(t.Context(), request(event.ReceiptID, 1))
	require.Error(t, err, "the claim gives up; a retry finds out")
	close(release)
	require.NoError(t, <-done)
	require.Equal(t, oncehook.ActionDone, s.claimAction(t, event.ReceiptID, 1).Outcome.State)
	require.Equal(t, 1, s.counted(t))
}

func TestUnknownCommitIsFoundOutByTheNextClaim(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	event := s.queued(t, "event-1")
	claim := s.claimAction(t, event.ReceiptID, 1)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	err := s.work.RunLocal(ctx, claim, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
		result, err := writes(ctx, tx)
		// The connection dies without the client knowing what the server did.
		require.NoError(t, tx.Conn().PgConn().Conn().Close())
		return result, err
	})
	require.Error(t, err)
	require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "unknown"}))
	soon(t, func() bool {
		next, err := s.work.ClaimAction(t.Context(), request(event.ReceiptID, 1))
		return err == nil && next.Outcome == nil && s.work.RunLocal(t.Context(), next, writes) == nil
	}, "the next attempt goes through")
	require.Equal(t, 1, s.counted(t))
}

func TestIgnoreAndSupersededUndoWhatTheAttemptWrote(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		err      error
		state    oncehook.ActionState
		word     string
		evidence string
	}{
		"ignore":     {oncehook.Ignore("nothing to do"), oncehook.ActionDone, "ignore", "ignored"},
		"superseded": {oncehook.Superseded("a newer one"), oncehook.ActionSuperseded, "superseded", "superseded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpine(t)
			s.effects(t)
			event := s.queued(t, "event-1")
			err := s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
				_, err := writes(ctx, tx)
				require.NoError(t, err)
				return nil, c.err
			})
			require.Equal(t, c.err, err)
			require.Zero(t, s.counted(t))
			outcome := s.claimAction(t, event.ReceiptID, 1).Outcome
			require.Equal(t, c.state, outcome.State)
			require.Equal(t, c.word, outcome.Word)
			require.NotEmpty(t, outcome.Reason)
			require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = $1`, c.evidence))
		})
	}
}

func TestFailedAttemptIsRecordedApart(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	event := s.queued(t, "event-1")
	claim := s.claimAction(t, event.ReceiptID, 1)
	broken := errors.New("the depot is closed")
	err := s.work.RunLocal(t.Context(), claim, func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
		_, _ = writes(ctx, tx)
		return nil, broken
	})
	require.ErrorIs(t, err, broken)
	require.Zero(t, s.counted(t))

	due := time.Now().Add(time.Minute)
	require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "the depot is closed", NextAttemptAt: due}))
	require.Equal(t, 1, number(t, s.db, `
		SELECT count(*) FROM oncehook.actions WHERE state = 'running' AND last_error = 'the depot is closed' AND next_attempt_at IS NOT NULL AND attempts = 1`))

	claim = s.claimAction(t, event.ReceiptID, 1)
	require.Equal(t, 2, claim.RunAttempts)
	require.NoError(t, s.work.FailAction(t.Context(), claim, store.Failure{Error: "no such depot\x00" + strings.Repeat("x", 5000), Word: store.WordPermanent}))
	over := s.claimAction(t, event.ReceiptID, 1)
	require.Equal(t, oncehook.ActionFailed, over.Outcome.State)
	require.Equal(t, store.WordPermanent, over.Outcome.Word)
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.audit WHERE kind = 'action' AND outcome = 'failed' AND cause = 'permanent'`))
}

func TestAttemptsOfDeadWorkersCount(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	q := request(event.ReceiptID, 1)
	q.MaxAttempts = 3
	for range 3 { // each dies without a word
		claim, err := s.work.ClaimAction(t.Context(), q)
		require.NoError(t, err)
		require.Nil(t, claim.Outcome)
	}
	claim, err := s.work.ClaimAction(t.Context(), q)
	require.NoError(t, err)
	require.Equal(t, store.WordRetriesExhausted, claim.Outcome.Word)

	s.finishRun(t, event.ReceiptID)
	s.replay(t, event.ReceiptID)
	q.RunNo = 2
	claim, err = s.work.ClaimAction(t.Context(), q)
	require.NoError(t, err)
	require.Nil(t, claim.Outcome, "a replay has attempts of its own")
	require.Equal(t, 1, claim.RunAttempts)
}

func (s spine) finishRun(t testing.TB, receipt uuid.UUID) {
	t.Helper()
	_, err := s.work.Finish(t.Context(), store.Finish{ReceiptID: receipt, RunNo: 1, State: oncehook.StateDeadLettered, Cause: "test"})
	require.NoError(t, err)
}

func TestStaleRunIsRefused(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	s.finishRun(t, event.ReceiptID)
	_, err := s.work.ClaimAction(t.Context(), request(event.ReceiptID, 1))
	require.ErrorIs(t, err, store.ErrRunEnded)
	s.replay(t, event.ReceiptID)
	for _, runNo := range []int{1, 3} {
		_, err = s.work.ClaimAction(t.Context(), request(event.ReceiptID, runNo))
		require.ErrorIs(t, err, store.ErrStaleRun)
	}
	_, err = s.work.ClaimAction(t.Context(), request(uuid.New(), 1))
	require.ErrorIs(t, err, store.ErrNotFound)
	state, _ := s.state(t, event.ReceiptID)
	require.Equal(t, oncehook.StateQueued, state)
}

func TestReplayFindsWhatIsDone(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	require.NoError(t, s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), succeeds))
	s.finishRun(t, event.ReceiptID)
	s.replay(t, event.ReceiptID)
	require.Equal(t, []byte(`{"version":1}`), s.claimAction(t, event.ReceiptID, 2).Outcome.Result)
	epoch := request(event.ReceiptID, 2)
	epoch.Epoch = 2
	claim, err := s.work.ClaimAction(t.Context(), epoch)
	require.NoError(t, err)
	require.Nil(t, claim.Outcome, "a new epoch is a new effect")
	require.Equal(t, string(event.Key)+":"+action+":e2", claim.IdempotencyKey)
}

func TestResultHasALimit(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	err := s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), func(context.Context, pgx.Tx) ([]byte, error) {
		return make([]byte, store.MaxResult+1), nil
	})
	require.ErrorIs(t, err, store.ErrResultTooLarge)
}

func TestEffectCannotEndItsOwnTransaction(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	s.effects(t)
	event := s.queued(t, "event-1")
	for _, trick := range []string{"COMMIT", "ROLLBACK", "COMMIT; BEGIN"} {
		err := s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
			_, err := tx.Exec(ctx, trick, pgx.QueryExecModeSimpleProtocol)
			return nil, err
		})
		require.Error(t, err, trick)
	}
	require.Nil(t, s.claimAction(t, event.ReceiptID, 1).Outcome)
}

func TestPausedAttemptLosesItsTransaction(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	err := s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), func(ctx context.Context, tx pgx.Tx) ([]byte, error) {
		var limit string
		require.NoError(t, tx.QueryRow(ctx, `SHOW idle_in_transaction_session_timeout`).Scan(&limit))
		require.Equal(t, "30s", limit)
		_, err := tx.Exec(ctx, `SET LOCAL idle_in_transaction_session_timeout = '50ms'`)
		require.NoError(t, err)
		soon(t, func() bool {
			return number(t, s.db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction'`) == 0
		}, "the database ends it")
		return nil, nil
	})
	require.Error(t, err)
	require.Nil(t, s.claimAction(t, event.ReceiptID, 1).Outcome, "the next attempt has the row")
}
