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

// settles asks to attempt the action that settles the invoice.
func settles(receipt uuid.UUID) store.ClaimRequest {
	q := request(receipt, 1)
	q.Name, q.BusinessKey, q.WaitUntil = "test.settle_invoice", "invoice-42", time.Now().Add(time.Hour)
	return q
}

func (s spine) ask(t testing.TB, q store.ClaimRequest) store.Claim {
	t.Helper()
	claim, err := s.work.ClaimAction(t.Context(), q)
	require.NoError(t, err)
	require.Nil(t, claim.Outcome)
	return claim
}

func invoice() store.Wait {
	return store.Wait{For: "invoice-42", Until: time.Now().Add(time.Hour), Reason: "waits for invoice-42"}
}

// woken claims the signals that are due.
func (s spine) woken(t testing.TB) []store.Signal {
	t.Helper()
	signals, err := s.work.ClaimSignals(t.Context(), 100, time.Minute)
	require.NoError(t, err)
	return signals
}

func TestAWaitSpendsNoAttemptAndIsShownAsParked(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	event := s.queued(t, "event-1")
	for range 3 {
		claim := s.claimAction(t, event.ReceiptID, 1)
		require.Equal(t, 1, claim.RunAttempts)
		parked, err := s.work.Park(t.Context(), claim, invoice())
		require.NoError(t, err)
		require.True(t, parked)
	}
	receipt, err := openAdmin(t, options(s.url)).Receipt(t.Context(), everything, event.ReceiptID)
	require.NoError(t, err)
	require.Equal(t, oncehook.StatusParked, receipt.Status)
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE waits_for = 'invoice-42' AND wait_until > now()`))
}

func TestTheEffectThatSettlesAFactWakesWhoWaitsForIt(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	waiting, other, settling := s.queued(t, "event-1"), s.queued(t, "event-2"), s.queued(t, "event-3")
	for receipt, fact := range map[uuid.UUID]string{waiting.ReceiptID: "invoice-42", other.ReceiptID: "invoice-43"} {
		w := invoice()
		w.For = fact
		parked, err := s.work.Park(t.Context(), s.claimAction(t, receipt, 1), w)
		require.NoError(t, err)
		require.True(t, parked)
	}
	claim := s.ask(t, settles(settling.ReceiptID))
	err := s.work.RunLocal(t.Context(), claim, func(context.Context, pgx.Tx) ([]byte, error) { return nil, context.Canceled })
	require.ErrorIs(t, err, context.Canceled)
	require.Empty(t, s.woken(t), "what is rolled back wakes nobody")

	require.NoError(t, s.work.RunLocal(t.Context(), claim, succeeds))
	signals := s.woken(t)
	require.Len(t, signals, 1)
	require.Equal(t, string(waiting.Key), signals[0].EventKey)
	require.JSONEq(t, `{"action":"logistics.record_arrival"}`, string(signals[0].Argument))
	require.Empty(t, s.woken(t), "it is leased")
	require.NoError(t, s.work.MarkSignalled(t.Context(), signals[0].OutboxID, ""))
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.outbox WHERE kind = 'signal' AND dispatched_at IS NOT NULL`))
}

func TestARemoteEffectWakesWithItsRecord(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	waiting, settling := s.queued(t, "event-1"), s.queued(t, "event-2")
	_, err := s.work.Park(t.Context(), s.claimAction(t, waiting.ReceiptID, 1), invoice())
	require.NoError(t, err)
	q := settles(settling.ReceiptID)
	q.Kind = oncehook.KindKeyed
	require.NoError(t, s.work.RecordRemote(t.Context(), s.ask(t, q), done()))
	require.Len(t, s.woken(t), 1)
}

func TestAFactThatCameAboutMeanwhileIsNotWaitedFor(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	waiting, settling := s.queued(t, "event-1"), s.queued(t, "event-2")
	attempt := s.claimAction(t, waiting.ReceiptID, 1)
	require.NoError(t, s.work.RunLocal(t.Context(), s.ask(t, settles(settling.ReceiptID)), succeeds))
	parked, err := s.work.Park(t.Context(), attempt, invoice())
	require.NoError(t, err)
	require.False(t, parked)
	require.Zero(t, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE waits_for IS NOT NULL`))
}

// The two meet at every instant: whatever the order, the wait is woken or not begun.
func TestNoWakeUpIsLostBetweenAWaitAndAnEffect(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	for n := range 25 {
		fact := uuid.NewString()
		waiting, settling := s.queued(t, "wait-"+fact), s.queued(t, "settle-"+fact)
		attempt := s.claimAction(t, waiting.ReceiptID, 1)
		q := settles(settling.ReceiptID)
		q.BusinessKey = fact
		claim := s.ask(t, q)
		ended := make(chan error, 1)
		go func() { ended <- s.work.RunLocal(context.WithoutCancel(t.Context()), claim, succeeds) }()
		w := invoice()
		w.For = fact
		parked, err := s.work.Park(t.Context(), attempt, w)
		require.NoError(t, err)
		require.NoError(t, <-ended)
		require.Equal(t, parked, len(s.woken(t)) == 1, "round %d", n)
	}
}

func TestAHolderThatGivesUpWakesWhoWaitsForItsKey(t *testing.T) {
	t.Parallel()
	for name, giveUp := range map[string]func(t *testing.T, s spine, holder store.Claim){
		"it fails": func(t *testing.T, s spine, holder store.Claim) {
			require.NoError(t, s.work.FailAction(t.Context(), holder, store.Failure{Error: "no", Word: store.WordPermanent}))
		},
		"its run ends": func(t *testing.T, s spine, holder store.Claim) { s.finishRun(t, holder.ReceiptID) },
		"it is done": func(t *testing.T, s spine, holder store.Claim) {
			require.NoError(t, s.work.RunLocal(t.Context(), holder, succeeds))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := openSpine(t)
			first, second := s.queued(t, "event-1"), s.queued(t, "event-2")
			holder := s.ask(t, settles(first.ReceiptID))
			_, err := s.work.ClaimAction(t.Context(), settles(second.ReceiptID))
			require.ErrorIs(t, err, store.ErrBusinessKeyBusy)
			require.NoError(t, s.work.FailAction(t.Context(), holder, store.Failure{Error: "again", NextAttemptAt: time.Now()}))
			require.Empty(t, s.woken(t), "a retry holds the key")
			giveUp(t, s, holder)
			signals := s.woken(t)
			require.Len(t, signals, 1)
			require.Equal(t, string(second.Key), signals[0].EventKey)
		})
	}
}

func TestSignalsAreFoundBesideABacklogAndStartsBesideSignals(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	waiting := s.queued(t, "event-1")
	for n := range 300 {
		_, err := s.db.Exec(t.Context(), `
			INSERT INTO oncehook.outbox (kind, receipt_id, source, tenant, signal, due_at)
			VALUES ('signal', $1, $2, 'north', '{}', now() - interval '1 hour')`, waiting.ReceiptID, map[bool]string{true: "a-loud-source", false: "logistics"}[n < 290])
		require.NoError(t, err)
	}
	accept(t, s.ingress, copyOf("event-2"))
	l := limits()
	l.InFlight, l.PerSource, l.Batch = 2, 2, 2
	starts, err := s.work.ClaimStarts(t.Context(), l)
	require.NoError(t, err)
	require.Len(t, starts, 1, "signals do not fill the window of starts")

	signals, err := s.work.ClaimSignals(t.Context(), 10, time.Minute)
	require.NoError(t, err)
	require.Len(t, signals, 10)
	require.Equal(t, 5, number(t, s.db, `SELECT count(*) FROM oncehook.outbox WHERE claims = 1 AND kind = 'signal' AND source = 'logistics'`), "each source has its turn")
}

// Settling may be one of several effects for the fact, and not the one waited for.
func TestAFactThatWasSettledLongAgoIsWaitedForAllTheSame(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	waiting, settling := s.queued(t, "event-1"), s.queued(t, "event-2")
	require.NoError(t, s.work.RunLocal(t.Context(), s.ask(t, settles(settling.ReceiptID)), succeeds))
	_, err := s.db.Exec(t.Context(), `UPDATE oncehook.actions SET changed_at = changed_at - interval '1 hour'`)
	require.NoError(t, err)
	parked, err := s.work.Park(t.Context(), s.claimAction(t, waiting.ReceiptID, 1), invoice())
	require.NoError(t, err)
	require.True(t, parked, "a failure would spend the run's attempts within minutes")
}
