// Package clock_test moves the process's clock: what was stored yesterday is met
// weeks later, and what is past its retention goes, whatever is killed meanwhile.
package clock_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestMain(m *testing.M) { os.Exit(harness.Main(m)) }

const (
	day      = 24 * time.Hour
	recovery = 3 * time.Minute
)

// ddlBarrier stops whoever is about to execute a DDL command with the tag, inside
// its transaction, until the test releases it.
type ddlBarrier struct {
	system *harness.System
	conn   *pgx.Conn
}

const ddlKey = 7717

func barrierBefore(s *harness.System, tag string) *ddlBarrier {
	s.T.Helper()
	b := &ddlBarrier{system: s}
	var err error
	b.conn, err = pgx.Connect(context.Background(), s.URL)
	require.NoError(s.T, err)
	s.T.Cleanup(func() { _ = b.conn.Close(context.Background()) })
	s.Exec(fmt.Sprintf(`CREATE FUNCTION public.ddl_barrier() RETURNS event_trigger LANGUAGE plpgsql AS $$
		BEGIN PERFORM pg_advisory_xact_lock_shared(%d); END $$;
		CREATE EVENT TRIGGER ddl_barrier ON ddl_command_start WHEN TAG IN ('%s') EXECUTE FUNCTION public.ddl_barrier()`, ddlKey, tag))
	_, err = b.conn.Exec(context.Background(), `SELECT pg_advisory_lock($1)`, ddlKey)
	require.NoError(s.T, err)
	return b
}

const waitingAtDDL = `FROM pg_locks WHERE locktype = 'advisory' AND NOT granted AND objid = $1
	AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`

// reached waits until somebody stands at the barrier.
func (b *ddlBarrier) reached() {
	b.system.T.Helper()
	b.system.Eventually(1, time.Minute, `SELECT count(*) `+waitingAtDDL, ddlKey)
}

// clear ends the backends of the dead that stand there, and opens the barrier for good.
func (b *ddlBarrier) clear() {
	b.system.T.Helper()
	b.system.Exec(`SELECT pg_terminate_backend(pid) `+waitingAtDDL, ddlKey)
	b.system.Exec(`DROP EVENT TRIGGER ddl_barrier`)
	_, err := b.conn.Exec(context.Background(), `SELECT pg_advisory_unlock($1)`, ddlKey)
	require.NoError(b.system.T, err)
}
