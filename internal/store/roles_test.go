package store_test

import (
	"context"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/store"
)

// newPrefix returns a prefix of the test's own; its roles go when the test ends.
func newPrefix(t *testing.T, databaseURL string) string {
	t.Helper()
	prefix := "p_" + pgtest.DatabaseName(t, databaseURL) + "_"
	t.Cleanup(func() {
		db, err := pgxpool.New(context.Background(), databaseURL)
		require.NoError(t, err)
		defer db.Close()
		for _, role := range store.DatabaseRoles() {
			var exists bool
			require.NoError(t, db.QueryRow(context.Background(), `SELECT to_regrole($1) IS NOT NULL`, prefix+string(role)).Scan(&exists))
			if exists {
				_, err := db.Exec(context.Background(), `DROP OWNED BY `+prefix+string(role)+`; DROP ROLE `+prefix+string(role))
				require.NoError(t, err)
			}
		}
	})
	return prefix
}

func made(prefix string) []string {
	return []string{prefix + "ingress", prefix + "work", prefix + "admin"}
}

func makeRoles(t *testing.T, o store.Options, prefix string, business ...string) store.RolesReport {
	t.Helper()
	report, err := store.MakeRoles(t.Context(), o, prefix, business, false)
	require.NoError(t, err)
	return report
}

func TestRolesAreMadeOnceAndAgainChangesNothing(t *testing.T) {
	t.Parallel()
	o := options(database(t))
	db := connect(t, o.URL)
	prefix := newPrefix(t, o.URL)

	planned, err := store.MakeRoles(t.Context(), o, prefix, nil, true)
	require.NoError(t, err)
	require.Equal(t, made(prefix), planned.Made)
	require.Zero(t, number(t, db, `SELECT count(*) FROM pg_roles WHERE rolname LIKE $1`, prefix+"%"), "a plan changes nothing")

	report := makeRoles(t, o, prefix)
	require.Equal(t, planned, report)
	require.Equal(t, 3, number(t, db, `
		SELECT count(*) FROM pg_authid WHERE rolname LIKE $1 AND rolcanlogin AND rolpassword IS NULL
		AND NOT rolsuper AND NOT rolcreaterole AND NOT rolcreatedb AND NOT rolbypassrls AND NOT rolreplication`, prefix+"%"))

	again := makeRoles(t, o, prefix)
	require.Equal(t, made(prefix), again.Found)
	require.Empty(t, again.Statements)
	require.NoError(t, store.Migrate(t.Context(), o))
	again, err = store.MakeRoles(t.Context(), o, prefix, nil, true)
	require.NoError(t, err)
	require.Empty(t, again.Statements)
}

func TestRolesAreMadeByProcessesAtOnce(t *testing.T) {
	t.Parallel()
	// Two databases of one cluster: only the roles are common to them.
	one, two := options(database(t)), options(database(t))
	prefix := newPrefix(t, one.URL)
	t.Cleanup(func() { // before the roles go
		db, err := pgxpool.New(context.Background(), two.URL)
		require.NoError(t, err)
		defer db.Close()
		_, err = db.Exec(context.Background(), `DROP OWNED BY `+strings.Join(made(prefix), ", "))
		require.NoError(t, err)
	})
	var wg sync.WaitGroup
	failures := make(chan error, 8)
	for n := range cap(failures) {
		o := one
		if n%2 == 1 {
			o = two
		}
		wg.Go(func() {
			_, err := store.MakeRoles(t.Context(), o, prefix, nil, false)
			failures <- err
		})
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	for range cap(failures) {
		wg.Go(func() { require.NoError(t, store.Migrate(context.Background(), one)) })
	}
	wg.Wait()
	for _, o := range []store.Options{one, two} {
		report, err := store.MakeRoles(t.Context(), o, prefix, nil, true)
		require.NoError(t, err)
		require.Empty(t, report.Statements)
	}
}

func TestWithoutTheRightToCreateRolesTheSQLIsTold(t *testing.T) {
	t.Parallel()
	empty := pgtest.Empty(t)
	db := connect(t, empty)
	owner, ownerURL := loginRole(t, db, empty, `CREATE ON DATABASE `+pgtest.DatabaseName(t, empty))
	o := options(ownerURL)
	require.NoError(t, store.Migrate(t.Context(), o))
	prefix := newPrefix(t, empty)

	report, err := store.MakeRoles(t.Context(), o, prefix, nil, false)
	require.ErrorIs(t, err, store.ErrMayNotCreateRoles)
	require.Equal(t, made(prefix), report.Made)
	for _, role := range made(prefix) {
		require.Contains(t, report.Statements, `CREATE ROLE "`+role+`" LOGIN`)
	}
	// Somebody else makes them; the owner of the schema grants.
	for _, statement := range report.Statements {
		if strings.HasPrefix(statement, "CREATE ROLE") {
			_, err := db.Exec(t.Context(), statement)
			require.NoError(t, err)
		}
	}
	require.Equal(t, made(prefix), makeRoles(t, o, prefix).Found)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.installation WHERE role_prefix = $1`, prefix))

	_, err = db.Exec(t.Context(), `ALTER ROLE `+owner+` CREATEROLE`)
	require.NoError(t, err)
	next := "n_" + prefix
	t.Cleanup(func() {
		for _, role := range made(next) {
			_, err := db.Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role)
			require.NoError(t, err)
		}
	})
	report = makeRoles(t, o, next)
	require.Equal(t, made(next), report.Made, "CREATEROLE is enough")
	require.Equal(t, made(prefix), report.Former)
	require.Equal(t, 1, number(t, db, `SELECT has_table_privilege($1, 'oncehook.receipts', 'SELECT')::int`, prefix+"work"), "processes of the former roles go on")
}

func TestMigrationsGrantToRememberedRolesAndTakeBackTheRest(t *testing.T) {
	t.Parallel()
	o := options(database(t))
	db := connect(t, o.URL)
	prefix := newPrefix(t, o.URL)
	makeRoles(t, o, prefix)
	for _, statement := range []string{
		`REVOKE SELECT ON oncehook.receipts FROM ` + prefix + `work`,
		`GRANT SELECT ON oncehook.tenant_keys TO ` + prefix + `admin`,
		`GRANT UPDATE, DELETE ON oncehook.audit TO ` + prefix + `work`,
		`GRANT UPDATE (key) ON oncehook.receipts TO ` + prefix + `work`,
		`GRANT EXECUTE ON FUNCTION oncehook.accept_v1 TO ` + prefix + `admin`,
		`GRANT CREATE ON SCHEMA oncehook TO ` + prefix + `ingress`,
	} {
		_, err := db.Exec(t.Context(), statement)
		require.NoError(t, err)
	}
	require.NoError(t, store.Migrate(t.Context(), o))
	report, err := store.MakeRoles(t.Context(), o, prefix, nil, true)
	require.NoError(t, err)
	require.Empty(t, report.Statements)
	require.Equal(t, 1, number(t, db, `
		SELECT (has_table_privilege($1, 'oncehook.receipts', 'SELECT') AND has_column_privilege($2, 'oncehook.tenant_keys', 'tenant', 'SELECT')
			AND NOT has_column_privilege($2, 'oncehook.tenant_keys', 'wrapped', 'SELECT')
			AND NOT has_table_privilege($1, 'oncehook.audit', 'UPDATE'))::int`, prefix+"work", prefix+"admin"))

	// A restored database may come to a cluster without them.
	_, err = db.Exec(t.Context(), `DROP OWNED BY `+prefix+`admin; DROP ROLE `+prefix+`admin`)
	require.NoError(t, err)
	require.NoError(t, store.Migrate(t.Context(), o))
}

func TestABusinessSchemaIsWorksToUseAndItsAuditToExtend(t *testing.T) {
	t.Parallel()
	o := options(database(t))
	prefix := newPrefix(t, o.URL)
	files := fstest.MapFS{"0001_things.sql": {Data: []byte(`-- +goose Up
CREATE TABLE things (n serial PRIMARY KEY, word text);
CREATE TABLE audit (word text);
`)}}
	require.NoError(t, store.MigrateBusiness(t.Context(), o, "business", files))
	makeRoles(t, o, prefix, "business")
	files["0002_more.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE more (n int);\n")}
	require.NoError(t, store.MigrateBusiness(t.Context(), o, "business", files))

	work := connect(t, login(t, connect(t, o.URL), o.URL, prefix+"work"))
	for _, statement := range []string{
		`INSERT INTO business.things (word) VALUES ('x') RETURNING n`, `UPDATE business.things SET word = 'y'`, `DELETE FROM business.things`,
		`INSERT INTO business.audit VALUES ('x')`, `SELECT FROM business.audit`, `INSERT INTO business.more VALUES (1)`,
	} {
		_, err := work.Exec(t.Context(), statement)
		require.NoError(t, err, statement)
	}
	for _, statement := range []string{
		`UPDATE business.audit SET word = 'y'`, `DELETE FROM business.audit`, `TRUNCATE business.things`,
		`SELECT FROM business.schema_versions`, `CREATE TABLE business.mine ()`,
	} {
		_, err := work.Exec(t.Context(), statement)
		requireCode(t, err, "42501")
	}
	for _, other := range []string{"ingress", "admin"} {
		_, err := connect(t, login(t, connect(t, o.URL), o.URL, prefix+other)).Exec(t.Context(), `SELECT FROM business.things`)
		requireCode(t, err, "42501")
	}
}

func TestAPrefixThatCannotBeOneIsRefused(t *testing.T) {
	t.Parallel()
	o := options(database(t))
	for _, prefix := range []string{"", "pg_", "A", `x"; --`, "x'", "-", strings.Repeat("x", 51)} {
		_, err := store.MakeRoles(t.Context(), o, prefix, nil, true)
		require.ErrorContains(t, err, "prefix", prefix)
	}
	_, err := store.MakeRoles(t.Context(), options(pgtest.Empty(t)), "x_", nil, true)
	require.ErrorContains(t, err, "run migrate up")
}

// login gives the role a password and returns the URL with which it connects.
func login(t testing.TB, db *pgxpool.Pool, databaseURL, role string) string {
	t.Helper()
	_, err := db.Exec(t.Context(), `ALTER ROLE `+role+` PASSWORD 'test'`)
	require.NoError(t, err)
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	u.User = url.UserPassword(role, "test")
	return u.String()
}
