package store_test

import (
	"context"
	"net/url"
	"testing"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/store"
)

// ingressGrants is all that the ingress's role needs beside USAGE on the schema.
var ingressGrants = []string{
	"schema_v1", "accept_v1", "own_keys_v1", "known_keys_v1", "tenant_key_v1", "offer_tenant_key_v1",
	"reject_v1", "record_v1", "count_v1", "report_keys_v1",
}

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

func TestTheIngressRunsAsARoleThatMayOnlyCallItsFunctions(t *testing.T) {
	owner := database(t)
	db := connect(t, owner)
	grants := []string{`USAGE ON SCHEMA oncehook`}
	for _, function := range ingressGrants {
		grants = append(grants, `EXECUTE ON FUNCTION oncehook.`+function)
	}
	name, roleURL := loginRole(t, db, owner, grants...)
	s := openIngress(t, options(roleURL))
	require.NoError(t, s.Schema(t.Context()))
	first := copyOf("event-1")
	require.Equal(t, []oncehook.Decision{oncehook.Accepted, oncehook.Duplicate, oncehook.Conflict},
		decisions(accept(t, s, first, copyOf("event-1"), copyOf("event-1", content("other")))))
	require.NoError(t, s.Reject(t.Context(), store.Rejection{ID: uuid.New(), Source: "logistics", Refusal: oncehook.Refusal{Code: oncehook.CodeMalformedJSON}, Body: []byte("x")}))
	require.NoError(t, s.Record(t.Context(), store.DecisionRecord{Decision: oncehook.RateLimited, Source: "logistics"}))
	known, err := s.Known(t.Context(), []oncehook.Key{first.Key, copyOf("event-2").Key})
	require.NoError(t, err)
	require.Equal(t, []bool{true, false}, known)
	s.Count("logistics", oncehook.Unauthenticated, "wrong_secret", addr("192.0.2.1"))
	s.Close()
	require.Equal(t, 1, number(t, db, `SELECT sum(count) FROM oncehook.audit_sums`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.receipts`))

	// And nothing else: neither a table, nor another function.
	as := connect(t, roleURL)
	for _, statement := range []string{
		`SELECT FROM oncehook.receipts`, `SELECT FROM oncehook.schema_versions`, `SELECT FROM oncehook.tenant_keys`,
		`INSERT INTO oncehook.audit (at, kind) VALUES (now(), 'delivery')`, `DELETE FROM oncehook.event_keys`,
		`SELECT oncehook.prepare_partitions_v1(current_date, 1)`, `SELECT oncehook.data_key_v1(1)`, `CREATE TABLE oncehook.mine ()`,
	} {
		_, err := as.Exec(t.Context(), statement)
		requireCode(t, err, "42501")
	}
	require.Zero(t, number(t, db, `
		SELECT count(*) FROM pg_class c, unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES,TRIGGER}'::text[]) privilege
		WHERE c.relnamespace = 'oncehook'::regnamespace AND c.relkind IN ('r', 'p') AND has_table_privilege($1, c.oid, privilege)`, name))
	require.Zero(t, number(t, db, `
		SELECT count(*) FROM pg_proc p WHERE p.pronamespace = 'oncehook'::regnamespace
		AND has_function_privilege($1, p.oid, 'EXECUTE') <> (p.proname = ANY ($2))`, name, ingressGrants))
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
