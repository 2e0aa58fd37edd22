package main

import (
	"context"
	"strings"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

func TestReencryptionTellsItsSumOnceAndWhoStillWrapsByTheOldKey(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.ok("migrate", "up")
	i.tenants(3)
	old := "wrap:" + id(i.keys()[0])
	i.ok("keys", "add", "wrap")
	i.ok("keys", "promote", "wrap")

	db, err := pgx.Connect(t.Context(), strings.TrimSpace(i.read("db")))
	require.NoError(t, err)
	defer func() { _ = db.Close(context.Background()) }()
	process := uuid.New()
	_, err = db.Exec(t.Context(), `SELECT oncehook.report_keys_v1($1, 'oncehook work', $2, $2)`, process, []string{old})
	require.NoError(t, err)

	r := i.run("keys", "reencrypt")
	require.Zero(t, r.code, r.stderr)
	require.Equal(t, "3 data keys are wrapped again; every one is wrapped by the primary key\n", r.stdout)
	require.NotContains(t, r.stderr, "3 data keys")
	require.Contains(t, r.stderr, "still wrapping by an earlier key: process "+process.String())
	require.Equal(t, "nothing is to do: every data key is wrapped by the primary key\n", i.ok("keys", "reencrypt"))
}
