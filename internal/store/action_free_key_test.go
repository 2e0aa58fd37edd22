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

// blocked waits until a session of oncehook's waits for a lock.
func (s spine) blocked(t testing.TB) {
	t.Helper()
	require.Eventually(t, func() bool {
		return number(t, s.db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
	}, 5*time.Second, 5*time.Millisecond)
}

// A wait that nobody wakes any more would last a minute, or an hour.
func TestAKeyThatIsGivenUpWhileItIsAskedForIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	first, second := s.queued(t, "event-1"), s.queued(t, "event-2")
	s.ask(t, settles(first.ReceiptID))

	tx, err := s.db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = tx.Rollback(context.WithoutCancel(t.Context())) }()
	_, err = tx.Exec(t.Context(), `SELECT pg_advisory_xact_lock(hashtextextended('oncehook business key north invoice-42', 0))`)
	require.NoError(t, err)
	asked := make(chan error, 1)
	go func() {
		_, err := s.work.ClaimAction(context.WithoutCancel(t.Context()), settles(second.ReceiptID))
		asked <- err
	}()
	s.blocked(t)
	_, err = tx.Exec(t.Context(), `UPDATE oncehook.actions SET state = 'failed', outcome = 'permanent' WHERE receipt_id = $1`, first.ReceiptID)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
	err = <-asked
	require.Error(t, err)
	require.NotErrorIs(t, err, store.ErrBusinessKeyBusy)
	s.ask(t, settles(second.ReceiptID))
}

// What is ignored has not happened: the next event for the same fact has its turn.
func TestAnIgnoredActionGivesItsBusinessKeyUp(t *testing.T) {
	t.Parallel()
	for _, kind := range []oncehook.Kind{oncehook.KindLocal, oncehook.KindKeyed} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			s := openSpine(t)
			first, second := s.queued(t, "event-1"), s.queued(t, "event-2")
			ask := func(receipt uuid.UUID) store.ClaimRequest {
				q := settles(receipt)
				q.Kind = kind
				return q
			}
			holder := s.ask(t, ask(first.ReceiptID))
			_, err := s.work.ClaimAction(t.Context(), ask(second.ReceiptID))
			require.ErrorIs(t, err, store.ErrBusinessKeyBusy)
			if kind == oncehook.KindLocal {
				ignored := oncehook.Ignore("not of this kind")
				require.Equal(t, ignored, s.work.RunLocal(t.Context(), holder, func(context.Context, pgx.Tx) ([]byte, error) { return nil, ignored }))
			} else {
				require.NoError(t, s.work.RecordRemote(t.Context(), holder, store.RemoteEnd{
					State: oncehook.ActionDone, Word: store.WordIgnored, Reason: "not of this kind",
				}))
			}
			require.Len(t, s.woken(t), 1)
			s.ask(t, ask(second.ReceiptID))
			outcome, err := s.work.ClaimAction(t.Context(), ask(first.ReceiptID))
			require.NoError(t, err)
			require.Equal(t, store.WordIgnored, outcome.Outcome.Word)
		})
	}
}
