package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func TestARefusedDeliveryFailsItsOwnUnitOnly(t *testing.T) {
	url := database(t) + "&lock_timeout=30s"
	s, db := openIngress(t, options(url)), connect(t, url)
	_, err := db.Exec(t.Context(), `ALTER TABLE oncehook.receipts ADD CONSTRAINT no_poison CHECK (subject <> 'poison')`)
	require.NoError(t, err)
	hold := holdCommits(t, db)
	var first, good, poisoned answers
	first.offer(s, copyOf("held", held))
	soon(t, func() bool { return hold.waiting(t, "advisory") == 1 }, "a batch is under way, so that the next one fills")
	for n := range 63 {
		good.offer(s, copyOf(fmt.Sprintf("event-%d", n)))
		if n == 31 {
			poisoned.offer(s, copyOf("beside-poison"), copyOf("poison", func(c *store.Candidate) { c.Event.Subject = "poison" }))
		}
	}
	soon(t, func() bool { return s.Stats().QueuedEvents == 66 }, "all are queued")
	hold.release(t)
	first.wg.Wait()
	good.wg.Wait()
	poisoned.wg.Wait()
	require.EqualValues(t, 63, good.accepted.Load(), good.String())
	require.EqualValues(t, 1, poisoned.unavailable.Load(), poisoned.String())
	require.Zero(t, number(t, db, `SELECT count(*) FROM oncehook.event_keys WHERE key LIKE '%poison%'`))
}

func TestADeadlockIsTriedOnceMoreWithTheSameIds(t *testing.T) {
	for name, test := range map[string]struct {
		code     string
		failures int
		accepted bool
	}{
		"deadlock":        {"40P01", 1, true},
		"serialization":   {"40001", 1, true},
		"deadlock, again": {"40P01", 2, false},
		"another error":   {"XX000", 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			url := database(t)
			s, db := openIngress(t, options(url)), connect(t, url)
			// A sequence counts the calls: it is not rolled back.
			_, err := db.Exec(t.Context(), fmt.Sprintf(`
				CREATE SEQUENCE public.calls;
				CREATE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$
				BEGIN
					IF nextval('public.calls') <= %d THEN RAISE EXCEPTION 'failure' USING ERRCODE = '%s'; END IF;
					RETURN NULL;
				END $$;
				CREATE TRIGGER fail AFTER INSERT ON oncehook.receipts FOR EACH STATEMENT EXECUTE FUNCTION public.fail()`, test.failures, test.code))
			require.NoError(t, err)
			c := copyOf("event-1")
			results, err := s.Accept(t.Context(), []store.Candidate{c})
			if !test.accepted {
				require.ErrorIs(t, err, store.ErrUnavailable)
				require.Zero(t, number(t, db, `SELECT count(*) FROM oncehook.event_keys`))
				return
			}
			require.NoError(t, err)
			require.Equal(t, c.ReceiptID, results[0].ReceiptID)
			require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.audit`))
		})
	}
}

func TestABatchThatTimesOutIsNotTriedInHalves(t *testing.T) {
	url := database(t) + "&lock_timeout=2s"
	s, db := openIngress(t, options(url)), connect(t, url)
	hold := holdCommits(t, db)
	foreign := begin(t, db)
	_, err := foreign.Exec(t.Context(), `INSERT INTO oncehook.event_keys VALUES ($1, gen_random_uuid(), gen_random_uuid(), 'fields/1', 1, '')`, string(copyOf("event-5").Key))
	require.NoError(t, err)
	var first, others answers
	first.offer(s, copyOf("held", held))
	soon(t, func() bool { return hold.waiting(t, "advisory") == 1 }, "a batch is under way, so that the next one fills")
	for n := range 16 {
		others.offer(s, copyOf(fmt.Sprintf("event-%d", n)))
	}
	soon(t, func() bool { return s.Stats().QueuedEvents == 17 }, "all are queued")
	hold.release(t)
	first.wg.Wait()
	start := time.Now()
	others.wg.Wait()
	require.Less(t, time.Since(start), 7*time.Second, "halves would each wait 2 s, five times in all")
	require.EqualValues(t, 16, others.unavailable.Load(), others.String())
}

func TestADeliveryThatPostgreSQLCannotHoldIsRefusedByField(t *testing.T) {
	s := openIngress(t, options(database(t)))
	for field, spoil := range map[string]change{
		"id":          func(c *store.Candidate) { c.Event.ID = "a\x00b" },
		"subject":     func(c *store.Candidate) { c.Event.Subject = "\xff" },
		"type":        func(c *store.Candidate) { c.Event.Type = "\xed\xa0\x80" },
		"sequence":    func(c *store.Candidate) { c.Event.Sequence = "\x00" },
		"tenant":      func(c *store.Candidate) { c.Event.Tenant = "" },
		"principal":   func(c *store.Candidate) { c.Principal = "\x00" },
		"flags":       func(c *store.Candidate) { c.Event.Flags = []string{"a,b"} },
		"fingerprint": func(c *store.Candidate) { c.Fingerprints = nil },
		"retention":   func(c *store.Candidate) { c.Retention = "forever" },
		"occurred_at": func(c *store.Candidate) { c.Event.OccurredAt = c.Event.OccurredAt.AddDate(9000, 0, 0) },
		"receipt_id":  func(c *store.Candidate) { c.ReceiptID = [16]byte{} },
		"key":         func(c *store.Candidate) { c.Key = "" },
	} {
		t.Run(field, func(t *testing.T) {
			_, err := s.Accept(t.Context(), []store.Candidate{copyOf("good"), copyOf("event-1", spoil)})
			var refusal *oncehook.Refusal
			require.ErrorAs(t, err, &refusal)
			require.Equal(t, field, refusal.Field)
		})
	}
	require.Equal(t, oncehook.Accepted, accept(t, s, copyOf("good"))[0].Decision)
}

func TestAFullQueueIsUnavailableAtOnceAndEmptiesAgain(t *testing.T) {
	url := database(t) + "&lock_timeout=30s"
	s, db := openIngress(t, options(url)), connect(t, url)
	hold := holdCommits(t, db)
	var first, queued answers
	first.offer(s, copyOf("held", held))
	soon(t, func() bool { return hold.waiting(t, "advisory") == 1 }, "a batch is under way")
	unit := make([]store.Candidate, 1000)
	for n := range 4 {
		for i := range unit {
			unit[i] = copyOf(fmt.Sprintf("event-%d-%d", n, i))
		}
		queued.offer(s, append([]store.Candidate(nil), unit...)...)
	}
	soon(t, func() bool { return s.Stats().QueuedEvents == 4001 }, "4,001 are queued")
	_, err := s.Accept(t.Context(), unit)
	require.ErrorIs(t, err, store.ErrUnavailable)
	hold.release(t)
	queued.wg.Wait()
	first.wg.Wait()
	require.EqualValues(t, 4000, queued.accepted.Load(), queued.String())
	soon(t, func() bool { return s.Stats() == store.IngressStats{} }, "nothing is held")
	require.Equal(t, oncehook.Duplicate, accept(t, s, copyOf("event-3-999"))[0].Decision)
}

func TestLookUpsOfAYoungTableNeverScanIt(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	for round := range 30 {
		unit := make([]store.Candidate, 100)
		for i := range unit {
			unit[i] = copyOf(fmt.Sprintf("event-%d-%d", round, i))
		}
		accept(t, s, unit...)
		accept(t, s, copyOf(fmt.Sprintf("event-%d-0", round)))
		_, err := s.Known(t.Context(), []oncehook.Key{unit[0].Key, unit[1].Key})
		require.NoError(t, err)
	}
	s.Close() // a session reports its statistics at the latest when it ends
	soon(t, func() bool {
		return number(t, db, `SELECT coalesce(idx_scan, 0) FROM pg_stat_user_tables WHERE schemaname = 'oncehook' AND relname = 'event_keys'`) >= 30
	}, "statistics")
	require.Zero(t, number(t, db, `SELECT seq_scan FROM pg_stat_user_tables WHERE schemaname = 'oncehook' AND relname = 'event_keys'`))
	require.Zero(t, number(t, db, `SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = 'oncehook' AND relname IN ('receipts', 'conflicts', 'delivery_counts')`))
}
