package clock_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestRetentionKilledAnywhereAndRunAgainComesToTheSame(t *testing.T) {
	type barrier interface {
		reached()
		clear()
	}
	for name, c := range map[string]struct {
		ahead time.Duration
		hold  func(s *harness.System) barrier
	}{
		"while it copies what is unresolved": {60 * day, func(s *harness.System) barrier {
			return rowBarrier{s.Barrier("INSERT", "oncehook.payloads_pinned", "", false)}
		}},
		"before a detachment": {60 * day, func(s *harness.System) barrier { return barrierBefore(s, "ALTER TABLE") }},
		"within a detachment": {60 * day, func(s *harness.System) barrier { return openReader(s) }},
		"before a drop":       {60 * day, func(s *harness.System) barrier { return barrierBefore(s, "DROP TABLE") }},
		"while it forgets keys": {460 * day, func(s *harness.System) barrier {
			return rowBarrier{s.Barrier("DELETE", "oncehook.receipts", "", true)}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := harness.New(t, harness.Options{})
			p := s.Serve()
			for _, id := range []string{"open-1", "open-2"} {
				p.Post("logistics", harness.LogisticsToken, harness.Event(id)).Is(t, http.StatusAccepted, "accepted")
			}
			for _, id := range []string{"ignored-1", "ignored-2"} {
				p.Post("acme", harness.AcmeToken, harness.EventOf("test.without_workflow", id)).Is(t, http.StatusAccepted, "accepted")
			}
			p.Stop()
			s.RetentionAt(30 * day).Done() // so that the days of these events are the next to go
			at := c.hold(s)
			doomed := s.RetentionAt(c.ahead)
			at.reached()
			doomed.Kill()
			at.clear()
			// The dead client's session may hold the lock for a moment.
			s.Eventually(0, time.Minute, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'oncehook migrate' AND datname = current_database()`)
			require.Equal(t, 2, s.Count(`SELECT count(DISTINCT x.delivery_id) FROM oncehook.receipts r JOIN (
				SELECT delivery_id FROM oncehook.payloads UNION ALL SELECT delivery_id FROM oncehook.payloads_pinned) x ON x.delivery_id = r.id
				WHERE r.event_id LIKE 'open-%'`), "what is unresolved can be read at any moment")
			s.RetentionAt(c.ahead).Done()

			require.Equal(t, "open-1\nopen-2", s.Text(`SELECT r.event_id FROM oncehook.payloads_pinned p
				JOIN oncehook.receipts r ON r.id = p.delivery_id ORDER BY 1`))
			require.Zero(t, s.Count(`SELECT count(*) FROM oncehook.payloads`))
			require.Zero(t, s.Count(`SELECT count(*) FROM pg_inherits WHERE inhdetachpending`))
			require.Zero(t, s.Count(`SELECT count(*) FROM pg_class WHERE relnamespace = 'oncehook'::regnamespace AND relkind = 'r'
				AND relname ~ '^payloads_c2_[0-9]{8}$'`), "no day is left behind")
			kept := 4
			if c.ahead > 400*day {
				kept = 2
			}
			require.Equal(t, kept, s.Count(`SELECT count(*) FROM oncehook.event_keys`))
			require.Equal(t, kept, s.Count(`SELECT count(*) FROM oncehook.receipts`))
			s.RetentionAt(c.ahead).Done()
			require.Equal(t, 2, s.Count(`SELECT count(*) FROM oncehook.payloads_pinned`), "once more changes nothing")
		})
	}
}

type rowBarrier struct{ b *harness.Barrier }

func (r rowBarrier) reached() { r.b.Reached(1) }

func (r rowBarrier) clear() {
	r.b.Abort()
	r.b.Release()
}

// reader holds a lock that a concurrent detachment waits for in its middle, when
// the partition is marked and still there.
type reader struct {
	system *harness.System
	tx     pgx.Tx
}

func openReader(s *harness.System) reader {
	s.T.Helper()
	tx, err := s.Pool.Begin(context.Background())
	require.NoError(s.T, err)
	_, err = tx.Exec(context.Background(), `SELECT FROM oncehook.payloads_c2 LIMIT 1`)
	require.NoError(s.T, err)
	s.T.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	return reader{system: s, tx: tx}
}

const pendingDetachment = `SELECT count(*) FROM pg_inherits WHERE inhdetachpending AND inhparent = 'oncehook.payloads_c2'::regclass`

func (r reader) reached() {
	r.system.T.Helper()
	r.system.Eventually(1, time.Minute, pendingDetachment)
}

// clear ends the dead client's backend first, which would complete it by itself.
func (r reader) clear() {
	r.system.T.Helper()
	r.system.Exec(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'oncehook migrate' AND datname = current_database()`)
	r.system.Eventually(0, time.Minute, `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'oncehook migrate' AND datname = current_database()`)
	require.NoError(r.system.T, r.tx.Rollback(context.Background()))
	require.Equal(r.system.T, 1, r.system.Count(pendingDetachment))
}
