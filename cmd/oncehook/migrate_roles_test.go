package main

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// databaseFile is what database.url of an install refers to.
func (i install) databaseFile() string { return filepath.Join(i.dir, "db") }

// execute runs statements as the superuser.
func execute(t *testing.T, databaseURL, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), databaseURL)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statements)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

func TestMigrateRolesMakesThemOrPrintsTheSQL(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	superuser, err := os.ReadFile(i.databaseFile())
	require.NoError(t, err)
	u, err := url.Parse(string(superuser))
	require.NoError(t, err)
	owner, prefix := "owner_"+u.Path[1:], "cli_"+u.Path[1:]+"_"
	execute(t, string(superuser), `CREATE ROLE `+owner+` LOGIN PASSWORD 'test'; GRANT CREATE ON DATABASE `+u.Path[1:]+` TO `+owner)
	u.User = url.UserPassword(owner, "test")
	require.NoError(t, os.WriteFile(i.databaseFile(), []byte(u.String()), 0o600))

	require.Contains(t, i.fails(exitFailure, "migrate", "roles", "--prefix", prefix).stderr, "run migrate up")
	i.ok("migrate", "up")
	require.Contains(t, i.fails(exitFailure, "migrate", "roles", "--prefix", "pg_").stderr, "prefix")

	whole := i.ok("migrate", "roles", "--prefix", prefix, "--print-sql")
	require.Contains(t, whole, `CREATE ROLE "`+prefix+`work" LOGIN;`)
	require.Contains(t, whole, `GRANT EXECUTE ON FUNCTION oncehook.accept_v1(`)
	r := i.fails(exitFailure, "migrate", "roles", "--prefix", prefix)
	require.Contains(t, r.stderr, "CREATEROLE")
	require.Equal(t, 3, strings.Count(r.stdout, "CREATE ROLE"), r.stdout)
	require.NotContains(t, r.stdout, "GRANT", "what is granted is the owner's to grant")

	execute(t, string(superuser), r.stdout)
	require.Contains(t, i.ok("migrate", "roles", "--prefix", prefix), "found "+prefix+"ingress")
	require.Equal(t, "-- nothing is to do\n", i.ok("migrate", "roles", "--prefix", prefix, "--print-sql"))
	i.ok("migrate", "up")

	execute(t, string(superuser), `ALTER ROLE `+owner+` CREATEROLE`)
	made := i.ok("migrate", "roles", "--prefix", "next_"+prefix)
	require.Contains(t, made, "made next_"+prefix+"ingress")
	require.Contains(t, made, `\password next_`+prefix+"ingress")
	require.Contains(t, made, "DROP OWNED BY "+prefix+"ingress")
}
