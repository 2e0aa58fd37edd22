package store_test

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

// loginRole makes a role that may do what the grants say, and returns the URL with which it connects.
func loginRole(t *testing.T, db *pgxpool.Pool, databaseURL string, grants ...string) (name, roleURL string) {
	t.Helper()
	name = "role_" + pgtest.DatabaseName(t, databaseURL)
	_, err := db.Exec(t.Context(), `CREATE ROLE `+name+` LOGIN PASSWORD 'test'`)
	require.NoError(t, err)
	t.Cleanup(func() {
		_, err := db.Exec(context.Background(), `DROP OWNED BY `+name+`; DROP ROLE `+name)
		require.NoError(t, err)
	})
	for _, grant := range grants {
		_, err := db.Exec(t.Context(), `GRANT `+grant+` TO `+name)
		require.NoError(t, err)
	}
	u, err := url.Parse(databaseURL)
	require.NoError(t, err)
	u.User = url.UserPassword(name, "test")
	return name, u.String()
}

// names lists what the query yields.
func names(t testing.TB, db *pgxpool.Pool, query string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), query, args...)
	require.NoError(t, err)
	list, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return list
}

const (
	everyTable    = `SELECT relname::text FROM pg_class WHERE relnamespace = 'oncehook'::regnamespace AND relkind IN ('r', 'p', 'v', 'm', 'f') AND NOT relispartition`
	everyFunction = `SELECT DISTINCT proname::text FROM pg_proc WHERE pronamespace = 'oncehook'::regnamespace`
)

func TestEveryTableAndFunctionHasADecision(t *testing.T) {
	t.Parallel()
	db := connect(t, database(t))
	for _, c := range []struct {
		query    string
		declared map[store.DatabaseRole]map[string][]string
	}{{everyTable, store.DeclaredTables()}, {everyFunction, store.DeclaredFunctions()}} {
		there := names(t, db, c.query)
		for name := range c.declared[store.DatabaseWork] {
			require.Contains(t, there, name, "grants_table.go declares what is not there")
		}
		undecided := slices.DeleteFunc(there, func(name string) bool { _, ok := c.declared[store.DatabaseWork][name]; return ok })
		require.Empty(t, undecided, "grants_table.go must say what the roles may do with it, even if that is nothing")
	}
}

// attempt is a statement that shows one privilege; EXPLAIN checks it and runs nothing.
type attempt struct{ statement, privilege string }

func attempts(table string, columns []string) []attempt {
	list := []attempt{
		{"EXPLAIN DELETE FROM oncehook." + table, "DELETE"},
		{"TRUNCATE oncehook." + table, "TRUNCATE"},
		{"CREATE TRIGGER mine BEFORE INSERT ON oncehook." + table + " EXECUTE FUNCTION oncehook.refuse_change()", "TRIGGER"},
		{"ALTER TABLE oncehook." + table + " SET (autovacuum_enabled = off)", "OWNER"},
		{"DROP TABLE oncehook." + table, "OWNER"},
	}
	for _, column := range columns {
		list = append(list,
			attempt{"EXPLAIN SELECT " + column + " FROM oncehook." + table, "SELECT " + column},
			attempt{"EXPLAIN INSERT INTO oncehook." + table + " (" + column + ") VALUES (DEFAULT)", "INSERT " + column},
			attempt{"EXPLAIN UPDATE oncehook." + table + " SET " + column + " = DEFAULT", "UPDATE " + column})
	}
	return list
}

// declares reports whether grants, such as "UPDATE (a, b)", hold a privilege, such as "UPDATE a".
func declares(grants []string, privilege string) bool {
	word, column, _ := strings.Cut(privilege, " ")
	return slices.ContainsFunc(grants, func(grant string) bool {
		has, columns, some := strings.Cut(grant, " (")
		return has == word && (!some || slices.Contains(strings.Split(strings.TrimSuffix(columns, ")"), ", "), column))
	})
}

func TestEachRoleMayDoWhatIsDeclaredAndNothingElse(t *testing.T) {
	t.Parallel()
	url := database(t)
	db := connect(t, url)
	tables := names(t, db, everyTable)
	for _, role := range store.DatabaseRoles() {
		t.Run(string(role), func(t *testing.T) {
			t.Parallel()
			me := connect(t, storetest.As(role, url))
			for _, table := range tables {
				columns := names(t, db, `SELECT attname::text FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped`, "oncehook."+table)
				for _, a := range attempts(table, columns) {
					_, err := me.Exec(t.Context(), a.statement)
					if declares(store.DeclaredTables()[role][table], a.privilege) {
						require.NoError(t, err, a.statement)
					} else {
						requireCode(t, err, "42501")
					}
				}
			}
			for function, grants := range store.DeclaredFunctions()[role] {
				require.Equal(t, len(grants) > 0, 0 < number(t, me, `
					SELECT count(*) FROM pg_proc WHERE pronamespace = 'oncehook'::regnamespace AND proname = $1 AND has_function_privilege(oid, 'EXECUTE')`, function), function)
			}
			for _, statement := range []string{
				`CREATE TABLE oncehook.mine ()`, `CREATE FUNCTION oncehook.mine() RETURNS int RETURN 1`, `DROP SCHEMA oncehook CASCADE`,
				`SELECT FROM oncehook.audit_` + time.Now().UTC().Format("20060102"), `SELECT FROM oncehook.payloads_c2`,
				`CREATE ROLE mine`, `SET ROLE test_` + string(store.DatabaseRoles()[(slices.Index(store.DatabaseRoles(), role)+1)%3]),
			} {
				_, err := me.Exec(t.Context(), statement)
				requireCode(t, err, "42501")
			}
		})
	}
}

func TestNobodyChangesEvidence(t *testing.T) {
	t.Parallel()
	for role, tables := range store.DeclaredTables() {
		for _, table := range []string{"audit", "audit_sums", "event_keys", "receipt_history"} {
			for _, grant := range tables[table] {
				require.Regexp(t, `^(SELECT|INSERT)\b`, grant, "%s on %s", role, table)
			}
		}
	}
}

func TestARoleReachesNewPartitionsThroughTheirParents(t *testing.T) {
	t.Parallel()
	s := openSpine(t)
	later := as(t, store.DatabaseWork, options(s.url))
	later.Now = func() time.Time { return time.Now().AddDate(0, 0, 30) }
	require.NoError(t, openWork(t, later).PreparePartitions(t.Context()))
	event := s.queued(t, "event-1")
	in := as(t, store.DatabaseIngress, options(s.url))
	in.Now = later.Now
	far := copyOf("event-2")
	accept(t, openIngress(t, in), far)
	for _, receipt := range []uuid.UUID{event.ReceiptID, far.ReceiptID} {
		stored, err := s.work.Event(t.Context(), receipt)
		require.NoError(t, err)
		require.NotEmpty(t, stored.Body)
		require.Equal(t, "sender", stored.Principal, "from the audit")
	}
}

func TestARoleWithoutGrantsIsNotReadyAndGoesOnOnceItHasThem(t *testing.T) {
	owner := database(t)
	db := connect(t, owner)
	name, roleURL := loginRole(t, db, owner)
	s := openIngress(t, options(roleURL))
	for _, grant := range []string{`USAGE ON SCHEMA oncehook`, `EXECUTE ON FUNCTION oncehook.schema_v1`} {
		var unusable *store.SchemaError
		require.ErrorAs(t, s.Schema(t.Context()), &unusable)
		require.Equal(t, store.SchemaPending, unusable.Fault)
		require.Contains(t, unusable.Reason, "permission denied")
		_, err := db.Exec(t.Context(), `GRANT `+grant+` TO `+name)
		require.NoError(t, err)
	}
	soon(t, func() bool { return s.Schema(t.Context()) == nil }, "usable")
}

func TestTriggersHoldForEveryRoleWithoutAGrantOfTheirFunctions(t *testing.T) {
	owner := database(t)
	db := connect(t, owner)
	accept(t, openIngress(t, options(owner)), copyOf("event-1"))
	_, roleURL := loginRole(t, db, owner, `USAGE ON SCHEMA oncehook`,
		`SELECT, UPDATE ON oncehook.receipts`, `SELECT, UPDATE, DELETE ON oncehook.audit`)
	as := connect(t, roleURL)
	_, err := as.Exec(t.Context(), `UPDATE oncehook.receipts SET state = 'succeeded', version = version + 1`)
	requireCode(t, err, "23514")
	_, err = as.Exec(t.Context(), `UPDATE oncehook.receipts SET state = 'queued', version = version + 1`)
	require.NoError(t, err)
	_, err = as.Exec(t.Context(), `DELETE FROM oncehook.audit`)
	require.ErrorContains(t, err, "insert-only")
}
