package store_test

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func execute(t testing.TB, db *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func TestOneProcessSweepsAtATimeAndADeadOneLosesTheRight(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	other := openWork(t, options(s.url))
	begin := func(w *store.Work) bool {
		_, mine, err := w.BeginSweep(t.Context(), time.Minute)
		require.NoError(t, err)
		return mine
	}
	_, known, err := s.work.LastSweep(t.Context())
	require.NoError(t, err)
	require.False(t, known)
	require.True(t, begin(s.work))
	require.True(t, begin(s.work), "its own right is extended")
	require.False(t, begin(other))
	place := store.Sweep{Running: store.SweepCursor{At: time.Date(2026, 11, 30, 12, 0, 0, 1000, time.UTC), ID: uuid.New()}}
	require.NoError(t, s.work.EndSweep(t.Context(), place, true))
	_, known, err = other.LastSweep(t.Context())
	require.NoError(t, err)
	require.True(t, known)
	found, mine, err := other.BeginSweep(t.Context(), time.Minute)
	require.NoError(t, err)
	require.True(t, mine)
	require.True(t, place.Running.At.Equal(found.Running.At), "the next one goes on where this one stopped")
	require.Equal(t, place.Running.ID, found.Running.ID)
	execute(t, s.db, `UPDATE oncehook.reconciler SET lease_until = now() - interval '1 second'`)
	require.True(t, begin(s.work), "the other one died")
}

func TestOpenReceiptsCarryTheirRunsRow(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	received := copyOf("received")
	queued := s.queued(t, "queued")
	accept(t, s.ingress, received)
	soonAfter := time.Now().Add(time.Minute)

	rows, err := s.work.UndispatchedReceipts(t.Context(), soonAfter, store.SweepCursor{}, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, received.ReceiptID, rows[0].ID)
	require.True(t, rows[0].Row && rows[0].Pending && !rows[0].Stuck)
	execute(t, s.db, `UPDATE oncehook.outbox SET lease_until = now() + interval '1 hour' WHERE receipt_id = $1`, received.ReceiptID)
	rows, err = s.work.UndispatchedReceipts(t.Context(), soonAfter, store.SweepCursor{}, 10)
	require.NoError(t, err)
	require.True(t, rows[0].Stuck)
	freed, err := s.work.FreeLease(t.Context(), store.ReceiptRun{ReceiptID: received.ReceiptID, RunNo: 1})
	require.NoError(t, err)
	require.True(t, freed)

	rows, err = s.work.RunningReceipts(t.Context(), soonAfter, store.SweepCursor{}, 10)
	require.NoError(t, err)
	require.Len(t, rows, 1)
	require.Equal(t, queued.ReceiptID, rows[0].ID)
	after, err := s.work.RunningReceipts(t.Context(), soonAfter, rows[0].Cursor, 10)
	require.NoError(t, err)
	require.Empty(t, after, "the cursor is past it")
	young, err := s.work.RunningReceipts(t.Context(), time.Now().Add(-time.Minute), store.SweepCursor{}, 10)
	require.NoError(t, err)
	require.Empty(t, young)
}

func TestAReopenedStartIsClaimedAgainAndRunsAlthoughTheReceiptIsProcessing(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	c := s.queued(t, "event-1")
	run := store.ReceiptRun{ReceiptID: c.ReceiptID, RunNo: 1}
	_, err := s.work.ClaimAction(t.Context(), request(c.ReceiptID, 1))
	require.NoError(t, err)
	execute(t, s.db, `UPDATE oncehook.outbox SET dispatched_at = NULL, lease_until = NULL`)
	starts := s.claim(t, limits())
	require.Len(t, starts, 1)
	require.True(t, starts[0].Begun, "a start that lost its mark is not begun a second time")
	require.NoError(t, s.work.MarkStarted(t.Context(), starts[0].OutboxID, "run-1"))

	opened, err := s.work.Reopen(t.Context(), run, 0, "lost")
	require.NoError(t, err)
	require.True(t, opened)
	opened, err = s.work.Reopen(t.Context(), run, 0, "lost")
	require.NoError(t, err)
	require.False(t, opened, "it is open")
	again := s.claim(t, limits())
	require.Len(t, again, 1)
	require.Equal(t, starts[0].OutboxID, again[0].OutboxID, "the same row, hence the same request id")
	require.False(t, again[0].Begun)
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.audit WHERE kind = 'system' AND outcome = 'reopened' AND receipt_id = $1`, c.ReceiptID))

	execute(t, s.db, `DELETE FROM oncehook.outbox`)
	opened, err = s.work.Reopen(t.Context(), run, 0, "lost")
	require.NoError(t, err)
	require.True(t, opened, "a row that is gone is made anew")
	require.Len(t, s.claim(t, limits()), 1)
	_, err = s.work.Finish(t.Context(), store.Finish{ReceiptID: c.ReceiptID, RunNo: 1, State: oncehook.StateSucceeded, Cause: oncehook.CauseFinished})
	require.NoError(t, err)
	execute(t, s.db, `DELETE FROM oncehook.outbox`)
	opened, err = s.work.Reopen(t.Context(), run, 0, "lost")
	require.NoError(t, err)
	require.False(t, opened, "it has ended")
}

func TestAClosedRunsReceiptEndsOnceAndNamesWhatIsUncertain(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	c := s.queued(t, "event-1")
	end := store.Finish{ReceiptID: c.ReceiptID, RunNo: 1, State: oncehook.StateDeadLettered, Cause: oncehook.CauseTerminated, Detail: "the run was terminated"}
	stale := end
	stale.RunNo = 2
	found, err := s.work.CloseRun(t.Context(), stale)
	require.NoError(t, err)
	require.Equal(t, store.FinishStale, found)

	sent, unsent := request(c.ReceiptID, 1), request(c.ReceiptID, 1)
	sent.Kind, sent.Name, unsent.Kind, unsent.Name = oncehook.KindKeyed, "test.sent", oncehook.KindKeyed, "test.unsent"
	for _, q := range []store.ClaimRequest{sent, unsent, request(c.ReceiptID, 1)} {
		claim, err := s.work.ClaimAction(t.Context(), q)
		require.NoError(t, err)
		if q.Name == "test.sent" {
			_, err = s.work.BeforeSend(t.Context(), claim, store.Send{Remembers: time.Hour, Call: time.Second})
			require.NoError(t, err)
		}
	}
	found, err = s.work.CloseRun(t.Context(), end)
	require.NoError(t, err)
	require.Equal(t, store.FinishWritten, found)
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE state = 'uncertain' AND name = 'test.sent'`))
	require.Equal(t, 2, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE state = 'failed' AND outcome = 'run_ended'`))
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.receipt_history
		WHERE to_state = 'dead_lettered' AND cause = 'terminated' AND detail = 'the run was terminated; uncertain: test.sent'`))
	found, err = s.work.CloseRun(t.Context(), end)
	require.NoError(t, err)
	require.Equal(t, store.FinishRepeated, found)
}

func TestTheLeaseOfTheDeadIsTakenFromThem(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	c := s.queued(t, "event-1")
	q := request(c.ReceiptID, 1)
	q.Kind, q.BusinessKey = oncehook.KindKeyed, "invoice-42"
	_, err := s.work.ClaimAction(t.Context(), q)
	require.NoError(t, err)
	// A receipt that ended without closing its actions, as by an older binary.
	execute(t, s.db, `UPDATE oncehook.receipts SET state = 'dead_lettered', version = version + 1 WHERE id = $1`, c.ReceiptID)
	dead := func() []uuid.UUID {
		list, err := s.work.DeadAttempts(t.Context(), 10)
		require.NoError(t, err)
		return list
	}
	require.Empty(t, dead(), "its lease is not over")
	closed, err := s.work.CloseAttempts(t.Context(), c.ReceiptID)
	require.NoError(t, err)
	require.False(t, closed)
	execute(t, s.db, `UPDATE oncehook.actions SET lease_until = now() - interval '1 minute'`)
	require.Equal(t, []uuid.UUID{c.ReceiptID}, dead())
	closed, err = s.work.CloseAttempts(t.Context(), c.ReceiptID)
	require.NoError(t, err)
	require.True(t, closed)
	require.Empty(t, dead())
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.actions WHERE state = 'failed'`), "the business key is free")
}

func TestAReceiptKeepsItsRunsIDWhenItsOutboxRowGoes(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	admin := openAdmin(t, options(s.url))
	ended, open := s.queued(t, "ended"), s.queued(t, "open")
	execute(t, s.db, `UPDATE oncehook.outbox SET run_id = 'run-of-' || receipt_id`)
	_, err := s.work.Finish(t.Context(), store.Finish{ReceiptID: ended.ReceiptID, RunNo: 1, State: oncehook.StateSucceeded, Cause: oncehook.CauseFinished})
	require.NoError(t, err)
	tidied, err := s.work.TidyOutbox(t.Context(), time.Now().Add(-time.Hour), 10)
	require.NoError(t, err)
	require.Zero(t, tidied, "they are young")
	tidied, err = s.work.TidyOutbox(t.Context(), time.Now().Add(time.Hour), 10)
	require.NoError(t, err)
	require.Equal(t, 1, tidied)
	for _, c := range []store.Candidate{ended, open} {
		receipt, err := admin.Receipt(context.Background(), everything, c.ReceiptID)
		require.NoError(t, err)
		require.NotNil(t, receipt.RunID)
		require.Equal(t, "run-of-"+c.ReceiptID.String(), *receipt.RunID)
	}
}

func TestOfAFinishAndAClosedRunAtTheSameTimeOneWritesTheEnd(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	for n := range 20 {
		c := s.queued(t, "event-"+strconv.Itoa(n))
		_, err := s.work.ClaimAction(t.Context(), request(c.ReceiptID, 1))
		require.NoError(t, err)
		found := make(chan store.Finished, 2)
		end := func(write func(context.Context, store.Finish) (store.Finished, error), state oncehook.State, cause string) {
			f, err := write(context.Background(), store.Finish{ReceiptID: c.ReceiptID, RunNo: 1, State: state, Cause: cause})
			if err != nil {
				t.Error(err)
			}
			found <- f
		}
		go end(s.work.Finish, oncehook.StateSucceeded, oncehook.CauseFinished)
		go end(s.work.CloseRun, oncehook.StateDeadLettered, oncehook.CauseTerminated)
		require.ElementsMatch(t, []store.Finished{store.FinishWritten, store.FinishRepeated}, []store.Finished{<-found, <-found})
		require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.receipt_history WHERE receipt_id = $1 AND to_state IN ('succeeded', 'dead_lettered')`, c.ReceiptID))
	}
}
