package pgtest_test

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

func execute(ctx context.Context, url, sql string) error {
	conn, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, sql)
	return err
}

func count(t *testing.T, url, sql string) int {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var n int
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func TestEveryTestGetsADatabaseOfItsOwn(t *testing.T) {
	var prepared atomic.Int32
	prepare := func(url string) error {
		prepared.Add(1)
		return execute(context.Background(), url, "CREATE TABLE things (n int)")
	}
	t.Run("copies", func(t *testing.T) {
		for i := range 8 {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				url := pgtest.Template(t, "things", prepare)
				require.NoError(t, execute(t.Context(), url, "INSERT INTO things VALUES (1)"))
				require.Equal(t, 1, count(t, url, "SELECT count(*) FROM things"))
			})
		}
	})
	require.EqualValues(t, 1, prepared.Load())
	empty := pgtest.Empty(t)
	require.Zero(t, count(t, empty, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"))
	require.Equal(t, 1, count(t, empty, "SELECT count(*) FROM pg_database WHERE datname LIKE 'test%'"), "ended tests leave no database")
}

func TestADatabaseIsDroppedThoughItIsInUse(t *testing.T) {
	var url string
	var conn *pgx.Conn
	t.Run("user", func(t *testing.T) {
		url = pgtest.Empty(t)
		var err error
		conn, err = pgx.Connect(context.Background(), url)
		require.NoError(t, err)
	})
	require.Error(t, conn.Ping(t.Context()))
	_, err := pgx.Connect(t.Context(), url)
	require.ErrorContains(t, err, "does not exist")
}
