package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func openWork(t testing.TB, o store.Options) *store.Work {
	t.Helper()
	w, err := store.OpenWork(t.Context(), as(t, store.DatabaseWork, o))
	require.NoError(t, err)
	t.Cleanup(w.Close)
	return w
}

// spine is a database with its ingress and its worker.
type spine struct {
	url     string
	ingress *store.Ingress
	work    *store.Work
	db      *pgxpool.Pool
}

func openSpine(t testing.TB) spine {
	t.Helper()
	url := database(t)
	return spine{url: url, ingress: openIngress(t, options(url)), work: openWork(t, options(url)), db: connect(t, url)}
}

// from makes the candidate come from another source.
func from(source string) change {
	return func(c *store.Candidate) {
		key, err := keys().Identity().Key(source, c.Event.Tenant, c.Event.ID, false)
		if err != nil {
			panic(err)
		}
		c.Source, c.Key = source, key
	}
}

func limits() store.ClaimLimits {
	return store.ClaimLimits{Batch: 100, PerSource: 100, InFlight: 100, Lease: time.Minute, Local: true}
}

func (s spine) claim(t testing.TB, l store.ClaimLimits) []store.Start {
	t.Helper()
	starts, err := s.work.ClaimStarts(t.Context(), l)
	require.NoError(t, err)
	return starts
}

func (s spine) state(t testing.TB, receipt uuid.UUID) (oncehook.State, string) {
	t.Helper()
	var (
		state oncehook.State
		cause string
	)
	require.NoError(t, s.db.QueryRow(t.Context(), `SELECT state, cause FROM oncehook.receipts WHERE id = $1`, receipt).Scan(&state, &cause))
	return state, cause
}

// history lists a receipt's transitions as "to cause".
func (s spine) history(t testing.TB, receipt uuid.UUID) []string {
	t.Helper()
	rows, err := s.db.Query(t.Context(), `SELECT to_state || ' ' || cause FROM oncehook.receipt_history WHERE receipt_id = $1 ORDER BY version`, receipt)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

// expire ends every lease.
func (s spine) expire(t testing.TB) {
	t.Helper()
	_, err := s.db.Exec(t.Context(), `UPDATE oncehook.outbox SET lease_until = now() - interval '1 second' WHERE lease_until IS NOT NULL`)
	require.NoError(t, err)
}

func TestClaimQueuesTheReceiptInTheSameTransaction(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	accepted := copyOf("event-1")
	accept(t, s.ingress, accepted)

	starts := s.claim(t, limits())
	require.Len(t, starts, 1)
	require.Equal(t, oncehook.Ref{
		ReceiptID: accepted.ReceiptID.String(), EventKey: string(accepted.Key), CorrelationID: accepted.CorrelationID.String(),
		Source: "logistics", Tenant: "north", Type: "shipment.depot_arrival", RunNo: 1, Local: true,
	}, starts[0].Ref)
	require.Equal(t, "ShipmentDepotArrival", starts[0].Workflow)
	require.Equal(t, 1, starts[0].Claims)
	require.False(t, starts[0].Begun)
	require.Equal(t, []string{"received accept", "queued dispatch"}, s.history(t, accepted.ReceiptID))

	require.Empty(t, s.claim(t, limits()), "a leased row is nobody else's")
}

func TestClaimAfterTheLeaseKeepsWhatTheFirstClaimFixed(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	accepted := copyOf("event-1")
	accept(t, s.ingress, accepted)
	require.Len(t, s.claim(t, limits()), 1)
	s.expire(t)

	again := limits()
	again.Local = false
	starts := s.claim(t, again)
	require.Len(t, starts, 1)
	require.True(t, starts[0].Ref.Local, "local is fixed by the first claim")
	require.Equal(t, 2, starts[0].Claims)
	require.Equal(t, []string{"received accept", "queued dispatch"}, s.history(t, accepted.ReceiptID))
}

func TestClaimGivesEverySourceItsTurn(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	for n := range 20 {
		accept(t, s.ingress, copyOf(fmt.Sprint("busy-", n)))
	}
	accept(t, s.ingress, copyOf("quiet-1", from("quiet")))
	accept(t, s.ingress, copyOf("other-1", from("other")))

	l := limits()
	l.Batch = 4
	sources := map[string]int{}
	for _, start := range s.claim(t, l) {
		sources[start.Ref.Source]++
	}
	require.Equal(t, map[string]int{"logistics": 2, "quiet": 1, "other": 1}, sources)

	l.Batch, l.PerSource = 100, 3
	require.Len(t, s.claim(t, l), 3, "the limit of one source")
}

func TestClaimBoundsTheRunsWithoutAFirstAction(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	for n := range 5 {
		accept(t, s.ingress, copyOf(fmt.Sprint("event-", n)))
	}
	l := limits()
	l.InFlight = 2
	first := s.claim(t, l)
	require.Len(t, first, 2)
	require.Empty(t, s.claim(t, l), "the bound is reached")

	s.expire(t)
	require.Len(t, s.claim(t, l), 2, "rows claimed before are outside the bound")

	_, err := s.work.ClaimAction(t.Context(), store.ClaimRequest{
		ActionID: store.ActionID{ReceiptID: uuid.MustParse(first[0].Ref.ReceiptID), Name: "logistics.record_arrival", Epoch: 1},
		RunNo:    1, Kind: oncehook.KindLocal, Lease: time.Minute,
	})
	require.NoError(t, err)
	require.Len(t, s.claim(t, l), 1, "a run whose first action is claimed makes room")
}

func TestRunsThatNeverBeganDoNotHoldUpTheirSourceForEver(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	for n := range 3 {
		accept(t, s.ingress, copyOf(fmt.Sprint("event-", n)))
	}
	l := limits()
	l.InFlight, l.Patience = 2, 5*time.Minute
	for _, start := range s.claim(t, l) {
		require.NoError(t, s.work.MarkStarted(t.Context(), start.OutboxID, "terminated-from-outside"))
	}
	require.Empty(t, s.claim(t, l), "the bound is reached")

	_, err := s.db.Exec(t.Context(), `UPDATE oncehook.receipts SET changed_at = changed_at - interval '6 minutes' WHERE state = 'queued'`)
	require.NoError(t, err)
	require.Len(t, s.claim(t, l), 1)
}

func TestReplaysThatFillTheBoundStillStart(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	l := limits()
	l.InFlight = 2
	receipts := make([]uuid.UUID, 4)
	for n := range receipts {
		c := copyOf(fmt.Sprint("event-", n))
		receipts[n] = c.ReceiptID
		accept(t, s.ingress, c)
		s.endRun(t, c.ReceiptID, oncehook.StateDeadLettered)
	}
	for _, receipt := range receipts {
		s.replay(t, receipt)
	}
	require.Len(t, s.claim(t, l), 4, "their receipts are queued already: nothing else could ever make room")
}

// endRun claims and finishes the receipt's run.
func (s spine) endRun(t testing.TB, receipt uuid.UUID, state oncehook.State) {
	t.Helper()
	for _, start := range s.claim(t, limits()) {
		require.NoError(t, s.work.MarkStarted(t.Context(), start.OutboxID, "run"))
	}
	var runNo int
	require.NoError(t, s.db.QueryRow(t.Context(), `SELECT run_no FROM oncehook.receipts WHERE id = $1`, receipt).Scan(&runNo))
	found, err := s.work.Finish(t.Context(), store.Finish{ReceiptID: receipt, RunNo: runNo, State: state, Cause: "test"})
	require.NoError(t, err)
	require.Equal(t, store.FinishWritten, found)
}

// replay queues the receipt's next run, as the operator's verb will.
func (s spine) replay(t testing.TB, receipt uuid.UUID) {
	t.Helper()
	_, err := s.db.Exec(t.Context(), `
		WITH r AS (
			UPDATE oncehook.receipts SET state = 'queued', cause = 'replay', version = version + 1, run_no = run_no + 1, changed_at = now()
			WHERE id = $1 RETURNING *
		), h AS (
			INSERT INTO oncehook.receipt_history (receipt_id, version, from_state, to_state, run_no, cause, actor, at)
			SELECT id, version, 'dead_lettered', 'queued', run_no, 'replay', 'test', now() FROM r
		)
		INSERT INTO oncehook.outbox (receipt_id, run_no, source, tenant, workflow)
		SELECT id, run_no, source, tenant, workflow FROM r`, receipt)
	require.NoError(t, err)
}

func TestMarkTouchesTheRowAloneAndOnce(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	accepted := copyOf("event-1")
	accept(t, s.ingress, accepted)
	start := s.claim(t, limits())[0]

	require.NoError(t, s.work.MarkStarted(t.Context(), start.OutboxID, "run-1"))
	require.NoError(t, s.work.MarkStarted(t.Context(), start.OutboxID, "run-2"))
	require.NoError(t, s.work.RetryStart(t.Context(), start.OutboxID, 0, "late", "late"))
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.outbox WHERE run_id = 'run-1' AND alert IS NULL AND dispatched_at IS NOT NULL`))
	state, _ := s.state(t, accepted.ReceiptID)
	require.Equal(t, oncehook.StateQueued, state)
	s.expire(t)
	require.Empty(t, s.claim(t, limits()), "a dispatched row is done with")
}

func TestRetriedStartComesBackAfterItsDelay(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	accept(t, s.ingress, copyOf("event-1"))
	start := s.claim(t, limits())[0]

	require.NoError(t, s.work.RetryStart(t.Context(), start.OutboxID, time.Hour, "temporal is away", "needs a person"))
	require.Empty(t, s.claim(t, limits()))
	stats, err := s.work.OutboxStats(t.Context())
	require.NoError(t, err)
	require.EqualValues(t, 1, stats.Pending)
	require.EqualValues(t, 1, stats.Alerts)
	require.Less(t, stats.Oldest, time.Minute)

	require.NoError(t, s.work.RetryStart(t.Context(), start.OutboxID, 0, "", ""))
	require.Len(t, s.claim(t, limits()), 1)
	require.Equal(t, 1, number(t, s.db, `SELECT count(*) FROM oncehook.outbox WHERE alert IS NULL AND last_error = 'temporal is away'`))
}

func TestRefusedStartIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	accepted := copyOf("event-1")
	accept(t, s.ingress, accepted)
	start := s.claim(t, limits())[0]

	require.NoError(t, s.work.RefuseStart(t.Context(), start.OutboxID, oncehook.CauseTemporalRefused, "too large\x00"))
	require.NoError(t, s.work.RefuseStart(t.Context(), start.OutboxID, oncehook.CauseTemporalRefused, "again"))
	require.Equal(t, []string{"received accept", "queued dispatch", "dead_lettered temporal_refused"}, s.history(t, accepted.ReceiptID))
	s.expire(t)
	require.Empty(t, s.claim(t, limits()))
}

func TestStartOfARunThatIsFurtherOnIsBegun(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	accepted := copyOf("event-1")
	accept(t, s.ingress, accepted)
	require.Len(t, s.claim(t, limits()), 1)
	found, err := s.work.Finish(t.Context(), store.Finish{ReceiptID: accepted.ReceiptID, RunNo: 1, State: oncehook.StateSucceeded, Cause: oncehook.CauseFinished})
	require.NoError(t, err)
	require.Equal(t, store.FinishWritten, found)
	s.expire(t)

	again := s.claim(t, limits())
	require.Len(t, again, 1)
	require.True(t, again[0].Begun, "it must not be started a second time, even if Temporal has forgotten it")
}

func TestConcurrentClaimsShareTheRows(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	const events = 60
	for n := range events {
		accept(t, s.ingress, copyOf(fmt.Sprint("event-", n)))
	}
	l := limits()
	l.Batch = 5
	claimed := make(chan int64, events)
	done := make(chan error, 4)
	for range 4 {
		go func() {
			for {
				starts, err := s.work.ClaimStarts(t.Context(), l)
				var left int
				if err == nil {
					err = s.db.QueryRow(t.Context(), `SELECT count(*) FROM oncehook.outbox WHERE claims = 0`).Scan(&left)
				}
				if err != nil || left == 0 && len(starts) == 0 {
					done <- err
					return
				}
				for _, start := range starts {
					claimed <- start.OutboxID
				}
			}
		}()
	}
	for range 4 {
		require.NoError(t, <-done)
	}
	close(claimed)
	seen := map[int64]bool{}
	for id := range claimed {
		require.False(t, seen[id], "row %d was claimed twice", id)
		seen[id] = true
	}
	require.Len(t, seen, events)
}
