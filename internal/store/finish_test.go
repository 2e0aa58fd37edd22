package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// queued accepts an event and claims its start.
func (s spine) queued(t testing.TB, id string, changes ...change) store.Candidate {
	t.Helper()
	c := copyOf(id, changes...)
	accept(t, s.ingress, c)
	starts := s.claim(t, limits())
	require.Len(t, starts, 1)
	require.NoError(t, s.work.MarkStarted(t.Context(), starts[0].OutboxID, "run"))
	return c
}

func TestFinishWritesEveryEndOnce(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		claimed bool
		state   oncehook.State
		history []string
	}{
		"succeeded":                   {true, oncehook.StateSucceeded, []string{"processing first_action", "succeeded why"}},
		"ignored":                     {true, oncehook.StateIgnored, []string{"processing first_action", "ignored why"}},
		"dead":                        {true, oncehook.StateDeadLettered, []string{"processing first_action", "dead_lettered why"}},
		"succeeded without an action": {false, oncehook.StateSucceeded, []string{"processing finished", "succeeded why"}},
		"ignored without an action":   {false, oncehook.StateIgnored, []string{"processing finished", "ignored why"}},
		"dead without an action":      {false, oncehook.StateDeadLettered, []string{"dead_lettered why"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpine(t)
			event := s.queued(t, "event-1")
			if c.claimed {
				s.claimAction(t, event.ReceiptID, 1)
			}
			end := store.Finish{ReceiptID: event.ReceiptID, RunNo: 1, State: c.state, Cause: "why", Detail: "because"}
			for _, want := range []store.Finished{store.FinishWritten, store.FinishRepeated, store.FinishRepeated} {
				found, err := s.work.Finish(t.Context(), end)
				require.NoError(t, err)
				require.Equal(t, want, found)
			}
			require.Equal(t, append([]string{"received accept", "queued dispatch"}, c.history...), s.history(t, event.ReceiptID))
			require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.receipt_history WHERE detail = 'because'`))
		})
	}
}

func TestFinishOfAnEarlierRunChangesNothing(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := copyOf("event-1")
	accept(t, s.ingress, event)
	s.endRun(t, event.ReceiptID, oncehook.StateDeadLettered)
	s.replay(t, event.ReceiptID)

	found, err := s.work.Finish(t.Context(), store.Finish{ReceiptID: event.ReceiptID, RunNo: 1, State: oncehook.StateSucceeded, Cause: "late"})
	require.NoError(t, err)
	require.Equal(t, store.FinishStale, found)
	state, cause := s.state(t, event.ReceiptID)
	require.Equal(t, oncehook.StateQueued, state)
	require.Equal(t, "replay", cause)
}

func TestFinishRefusesWhatIsNoEnd(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	_, err := s.work.Finish(t.Context(), store.Finish{ReceiptID: uuid.New(), RunNo: 1, State: oncehook.StateProcessing})
	require.Error(t, err)
	_, err = s.work.Finish(t.Context(), store.Finish{ReceiptID: uuid.New(), RunNo: 1, State: oncehook.StateSucceeded})
	require.ErrorIs(t, err, store.ErrNotFound)
}

func TestAnAttemptThatOutlivesItsRunCannotCommit(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	claim := s.claimAction(t, event.ReceiptID, 1)
	_, err := s.work.Finish(t.Context(), store.Finish{ReceiptID: event.ReceiptID, RunNo: 1, State: oncehook.StateDeadLettered, Cause: oncehook.CauseRetriesExhausted})
	require.NoError(t, err)

	require.ErrorIs(t, s.work.RunLocal(t.Context(), claim, succeeds), store.ErrFenced)
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE state = 'failed' AND outcome = 'run_ended'`))
	_, err = s.work.ClaimAction(t.Context(), request(event.ReceiptID, 1))
	require.NoError(t, err, "the action is over, and says so")
}

func TestFinishHasConnectionsThatEffectsCannotTake(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	o := options(s.url)
	o.Conns = 3 // one for effects
	work := openWork(t, o)
	slow, quick := s.queued(t, "slow"), s.queued(t, "quick")
	claim, err := work.ClaimAction(t.Context(), request(slow.ReceiptID, 1))
	require.NoError(t, err)

	holding, release, done := make(chan struct{}), make(chan struct{}), make(chan error, 1)
	go func() {
		done <- work.RunLocal(context.Background(), claim, func(context.Context, pgx.Tx) ([]byte, error) {
			close(holding)
			<-release
			return nil, nil
		})
	}()
	<-holding
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	_, err = work.Finish(ctx, store.Finish{ReceiptID: quick.ReceiptID, RunNo: 1, State: oncehook.StateSucceeded, Cause: oncehook.CauseFinished})
	require.NoError(t, err)
	_, err = work.ClaimStarts(ctx, limits())
	require.NoError(t, err)
	close(release)
	require.NoError(t, <-done)
}

// The claim holds the receipt without changing it, so the end of the run must look
// at the actions anew once it has the receipt.
func TestAClaimThatIsUnderWayWhenItsRunEndsIsFenced(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	require.NoError(t, s.work.RunLocal(t.Context(), s.claimAction(t, event.ReceiptID, 1), succeeds))

	tx, err := s.db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), `
		WITH r AS (SELECT id, key, tenant FROM oncehook.receipts FOR NO KEY UPDATE)
		INSERT INTO oncehook.actions (receipt_id, name, key, tenant, kind, state, run_no, idempotency_key, business_key, lease_until, created_at, changed_at)
		SELECT id, 'test.settle_invoice', key, tenant, 'local', 'running', 1, key || ':test.settle_invoice', 'invoice-42', now() + interval '1 minute', now(), now() FROM r`)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() {
		_, err := s.work.Finish(context.WithoutCancel(t.Context()), store.Finish{
			ReceiptID: event.ReceiptID, RunNo: 1, State: oncehook.StateDeadLettered, Cause: oncehook.CauseCancelled,
		})
		ended <- err
	}()
	s.blocked(t)
	require.NoError(t, tx.Commit(t.Context()))
	require.NoError(t, <-ended)
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE state = 'failed' AND outcome = 'run_ended' AND claim = 2`))
}
