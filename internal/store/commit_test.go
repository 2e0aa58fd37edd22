package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// barrier holds every transaction that inserts a receipt with the subject
// "held" just before its commit: a deferred trigger waits for an advisory lock,
// and raises when the row barrier_verdict says so.
type barrier struct {
	db   *pgxpool.Pool
	lock pgx.Tx
}

func holdCommits(t *testing.T, db *pgxpool.Pool) *barrier {
	t.Helper()
	_, err := db.Exec(t.Context(), `
		CREATE TABLE public.barrier_verdict (fail boolean NOT NULL);
		INSERT INTO public.barrier_verdict VALUES (false);
		CREATE FUNCTION public.wait_at_barrier() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
		BEGIN
			IF NEW.subject = 'held' THEN
				PERFORM pg_advisory_xact_lock_shared(4711);
				IF (SELECT fail FROM public.barrier_verdict) THEN RAISE EXCEPTION 'verdict' USING ERRCODE = 'ZZ001'; END IF;
			END IF;
			RETURN NULL;
		END $$;
		CREATE CONSTRAINT TRIGGER barrier AFTER INSERT ON oncehook.receipts DEFERRABLE INITIALLY DEFERRED
			FOR EACH ROW EXECUTE FUNCTION public.wait_at_barrier()`)
	require.NoError(t, err)
	b := &barrier{db: db, lock: begin(t, db)}
	_, err = b.lock.Exec(t.Context(), `SELECT pg_advisory_xact_lock(4711)`)
	require.NoError(t, err)
	return b
}

func (b *barrier) release(t *testing.T) {
	t.Helper()
	require.NoError(t, b.lock.Rollback(t.Context()))
}

// waiting counts the sessions that wait for the kind of lock.
func (b *barrier) waiting(t *testing.T, lock string) int {
	return number(t, b.db, `SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = $1
		AND (database IS NULL OR database = (SELECT oid FROM pg_database WHERE datname = current_database()))`, lock)
}

func held(c *store.Candidate) { c.Event.Subject = "held" }

func TestNoCopyIsAnsweredBeforeTheFirstOneCommitted(t *testing.T) {
	url := database(t) + "&lock_timeout=30s"
	a, b, db := openIngress(t, options(url)), openIngress(t, options(url)), connect(t, url)
	hold := holdCommits(t, db)
	var got answers
	got.offer(a, copyOf("event-1", held))
	soon(t, func() bool { return hold.waiting(t, "advisory") == 1 }, "the first copy is before its commit")
	for range 5 {
		got.offer(a, copyOf("event-1", held))
		got.offer(b, copyOf("event-1", held))
	}
	soon(t, func() bool { return hold.waiting(t, "transactionid") >= 1 }, "a copy waits for the first one")
	require.True(t, a.InFlight(copyOf("event-1").Key))
	require.Zero(t, got.arrived.Load())
	hold.release(t)
	got.wg.Wait()
	require.EqualValues(t, 1, got.accepted.Load(), got.String())
	require.EqualValues(t, 10, got.duplicate.Load(), got.String())
	require.False(t, a.InFlight(copyOf("event-1").Key))
}

func TestWhenTheFirstCopyRollsBackExactlyOneOtherIsAccepted(t *testing.T) {
	url := database(t) + "&lock_timeout=30s"
	a, b, db := openIngress(t, options(url)), openIngress(t, options(url)), connect(t, url)
	hold := holdCommits(t, db)
	_, err := db.Exec(t.Context(), `UPDATE public.barrier_verdict SET fail = true`)
	require.NoError(t, err)
	var first, others answers
	first.offer(a, copyOf("event-1", held))
	soon(t, func() bool { return hold.waiting(t, "advisory") == 1 }, "the first copy is before its commit")
	for range 5 {
		others.offer(b, copyOf("event-1"))
	}
	soon(t, func() bool { return hold.waiting(t, "transactionid") == 1 }, "a copy waits for the first one")
	hold.release(t)
	first.wg.Wait()
	others.wg.Wait()
	require.EqualValues(t, 1, first.unavailable.Load(), first.String())
	require.EqualValues(t, 1, others.accepted.Load(), others.String())
	require.EqualValues(t, 4, others.duplicate.Load(), others.String())
}

func TestACommitThatFailsIsNeverAnswered(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	hold := holdCommits(t, db)
	hold.release(t)
	_, err := db.Exec(t.Context(), `UPDATE public.barrier_verdict SET fail = true`)
	require.NoError(t, err)
	// The rows of the answer arrive before the deferred trigger refuses the commit.
	_, err = s.Accept(t.Context(), []store.Candidate{copyOf("event-1", held)})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.Zero(t, number(t, db, `SELECT count(*) FROM oncehook.event_keys`))
}

func TestALockHeldTooLongIsUnavailableAndARetrySettlesIt(t *testing.T) {
	url := database(t) + "&lock_timeout=200ms"
	s, db := openIngress(t, options(url)), connect(t, url)
	key := copyOf("event-1")
	foreign := begin(t, db)
	_, err := foreign.Exec(t.Context(), `INSERT INTO oncehook.event_keys VALUES ($1, gen_random_uuid(), gen_random_uuid(), 'fields/1', 1, '')`, string(key.Key))
	require.NoError(t, err)
	_, err = s.Accept(t.Context(), []store.Candidate{key})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.ErrorContains(t, err, "55P03")
	require.NoError(t, foreign.Rollback(t.Context()))
	require.Equal(t, oncehook.Accepted, accept(t, s, copyOf("event-1"))[0].Decision)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.receipts`))
}

func TestACommitHeldTooLongIsUnavailableToAllAndARetrySettlesIt(t *testing.T) {
	url := database(t)
	a, b, db := openIngress(t, options(url)), openIngress(t, options(url)), connect(t, url)
	hold := holdCommits(t, db)
	var got answers
	got.offer(a, copyOf("event-1", held))
	soon(t, func() bool { return hold.waiting(t, "advisory") == 1 }, "the first copy is before its commit")
	got.offer(a, copyOf("event-1", held))
	got.offer(b, copyOf("event-1", held))
	got.wg.Wait()
	require.EqualValues(t, 3, got.unavailable.Load(), got.String())
	require.Zero(t, number(t, db, `SELECT count(*) FROM oncehook.event_keys`))
	hold.release(t)
	require.Equal(t, oncehook.Accepted, accept(t, b, copyOf("event-1", held))[0].Decision)
	require.Equal(t, oncehook.Duplicate, accept(t, a, copyOf("event-1", held))[0].Decision)
}

func TestAnEffectsOpenTransactionDelaysNoCopy(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	first := accept(t, s, copyOf("event-1"))[0]
	worker := begin(t, db)
	_, err := worker.Exec(t.Context(), `UPDATE oncehook.receipts SET state = 'queued', version = 2 WHERE id = $1`, first.ReceiptID)
	require.NoError(t, err)
	_, err = worker.Exec(t.Context(), `UPDATE oncehook.outbox SET lease_until = now() WHERE receipt_id = $1`, first.ReceiptID)
	require.NoError(t, err)
	_, err = worker.Exec(t.Context(), `LOCK TABLE oncehook.actions IN ROW EXCLUSIVE MODE`)
	require.NoError(t, err)
	for n := range 50 {
		require.Equal(t, oncehook.Duplicate, accept(t, s, copyOf("event-1"))[0].Decision)
		require.Equal(t, oncehook.Accepted, accept(t, s, copyOf(fmt.Sprintf("other-%d", n)))[0].Decision)
	}
	require.Equal(t, oncehook.Conflict, accept(t, s, copyOf("event-1", content("other")))[0].Decision)
	require.NoError(t, worker.Commit(t.Context()))
}

func TestAWaiterThatGoesAwayDoesNotUndoItsDelivery(t *testing.T) {
	url := database(t) + "&lock_timeout=30s"
	s, db := openIngress(t, options(url)), connect(t, url)
	hold := holdCommits(t, db)
	ctx, leave := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		_, err := s.Accept(ctx, []store.Candidate{copyOf("event-1", held)})
		left <- err
	}()
	soon(t, func() bool { return hold.waiting(t, "advisory") == 1 }, "the copy is before its commit")
	leave()
	require.ErrorIs(t, <-left, store.ErrUnavailable)
	hold.release(t)
	require.Equal(t, oncehook.Duplicate, accept(t, s, copyOf("event-1"))[0].Decision)
}

func TestOverlappingBatchesOfTwoProcessesNeverDeadlock(t *testing.T) {
	url := database(t)
	a, b, db := openIngress(t, options(url)), openIngress(t, options(url)), connect(t, url)
	var got answers
	const rounds, events = 60, 24
	for round := range rounds {
		forward, backward := make([]store.Candidate, events), make([]store.Candidate, events)
		for n := range events {
			id := fmt.Sprintf("event-%d", (round/4)*events/2+n)
			forward[n] = copyOf(id)
			backward[events-1-n] = copyOf(id, content([]string{"depot-7", "other"}[n%2]))
		}
		got.offer(a, forward...)
		got.offer(b, backward...)
	}
	got.wg.Wait()
	require.Zero(t, got.unavailable.Load()+got.other.Load(), got.String())
	require.Zero(t, number(t, db, `SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()`))
	require.EqualValues(t, 2*rounds*events, got.accepted.Load()+got.duplicate.Load()+got.conflict.Load())
	require.EqualValues(t, got.accepted.Load(), number(t, db, `SELECT count(*) FROM oncehook.receipts`))
	require.EqualValues(t, got.duplicate.Load(), number(t, db, `SELECT sum(duplicates) FROM oncehook.delivery_counts`))
	require.EqualValues(t, got.conflict.Load(), number(t, db, `SELECT sum(conflicts) FROM oncehook.delivery_counts`))
}

func TestCloseCommitsWhatIsQueued(t *testing.T) {
	url := database(t) + "&lock_timeout=30s"
	s, db := openIngress(t, options(url)), connect(t, url)
	hold := holdCommits(t, db)
	var got answers
	got.offer(s, copyOf("held", held))
	soon(t, func() bool { return hold.waiting(t, "advisory") == 1 }, "a batch is before its commit")
	for n := range 30 {
		got.offer(s, copyOf(fmt.Sprintf("event-%d", n)))
	}
	soon(t, func() bool { return s.Stats().QueuedEvents == 31 }, "the others are queued")
	closed := make(chan struct{})
	go func() { s.Close(); close(closed) }()
	require.Never(t, func() bool {
		select {
		case <-closed:
			return true
		default:
			return false
		}
	}, 50*time.Millisecond, 5*time.Millisecond)
	hold.release(t)
	<-closed
	got.wg.Wait()
	require.EqualValues(t, 31, got.accepted.Load(), got.String())
	_, err := s.Accept(t.Context(), []store.Candidate{copyOf("late")})
	require.ErrorIs(t, err, store.ErrUnavailable)
}
