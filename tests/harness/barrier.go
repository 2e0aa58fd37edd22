package harness

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// Barrier stops whoever fires its trigger inside their transaction, until the
// test releases it. It is an advisory lock of the test's own session.
type Barrier struct {
	system *System
	conn   *pgx.Conn
	key    int64
	name   string
}

// Barrier holds transactions at a row event of a table. When is a trigger
// condition over NEW and OLD, such as `NEW.dispatched_at IS NOT NULL`, or "".
// A deferred barrier fires at COMMIT, else it fires at the statement.
func (s *System) Barrier(event, table, when string, deferred bool) *Barrier {
	s.T.Helper()
	ctx := context.Background()
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, event, table, when, deferred, time.Now().UnixNano())
	b := &Barrier{system: s, key: int64(h.Sum64() >> 1), name: fmt.Sprintf("test_barrier_%d", h.Sum64()%1e9)}
	var err error
	b.conn, err = pgx.Connect(ctx, s.URL)
	require.NoError(s.T, err)
	s.T.Cleanup(func() { _ = b.conn.Close(context.Background()) })

	condition := ""
	if when != "" {
		condition = "WHEN (" + when + ")"
	}
	kind, timing := "TRIGGER", ""
	if deferred {
		kind, timing = "CONSTRAINT TRIGGER", "DEFERRABLE INITIALLY DEFERRED"
	}
	at := "BEFORE"
	if deferred {
		at = "AFTER"
	}
	s.Exec(fmt.Sprintf(`CREATE FUNCTION public.%[1]s() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
		BEGIN PERFORM pg_advisory_xact_lock_shared(%[2]d); RETURN NEW; END $$;
		CREATE %[3]s %[1]s %[4]s %[5]s ON %[6]s %[7]s FOR EACH ROW %[8]s EXECUTE FUNCTION public.%[1]s()`,
		b.name, b.key, kind, at, event, table, timing, condition))
	b.Hold()
	return b
}

// Hold closes the barrier.
func (b *Barrier) Hold() {
	b.system.T.Helper()
	_, err := b.conn.Exec(context.Background(), `SELECT pg_advisory_lock($1)`, b.key)
	require.NoError(b.system.T, err)
}

// Release lets the waiting transactions go on.
func (b *Barrier) Release() {
	b.system.T.Helper()
	_, err := b.conn.Exec(context.Background(), `SELECT pg_advisory_unlock($1)`, b.key)
	require.NoError(b.system.T, err)
}

// Reached waits until n transactions stand at the barrier.
func (b *Barrier) Reached(n int) {
	b.system.T.Helper()
	b.system.Eventually(n, 60*time.Second, `SELECT count(*) FROM pg_locks
		WHERE locktype = 'advisory' AND NOT granted AND ((classid::bigint << 32) | objid::bigint) = $1`, b.key)
}

// Abort ends the backends that stand at the barrier: their transactions roll back.
func (b *Barrier) Abort() {
	b.system.T.Helper()
	b.system.Exec(`SELECT pg_terminate_backend(pid) FROM pg_locks
		WHERE locktype = 'advisory' AND NOT granted AND ((classid::bigint << 32) | objid::bigint) = $1`, b.key)
}
