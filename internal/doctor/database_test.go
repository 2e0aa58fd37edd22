package doctor_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/doctor"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

// database returns the URL of a migrated database with roles.
func database(t testing.TB) string {
	t.Helper()
	return pgtest.Template(t, "doctor", func(url string) error {
		if err := store.Migrate(context.Background(), storetest.Options(url)); err != nil {
			return err
		}
		return storetest.MakeRoles(context.Background(), storetest.Options(url))
	})
}

func execute(t testing.TB, url, statements string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), statements)
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))
}

func login(role, url string) doctor.Login {
	return doctor.Login{Role: role, Options: storetest.Options(url), Pool: 8}
}

// as is the role's own login.
func as(role store.DatabaseRole, url string) doctor.Login {
	return login(string(role), storetest.As(role, url))
}

func TestADatabaseIsToldWithItsLogin(t *testing.T) {
	t.Parallel()
	url := database(t)
	finds(t, examine(t, doctor.Database(as(store.DatabaseWork, url))), doctor.OK, "work: PostgreSQL 1", "as test_work")
	finds(t, examine(t, doctor.Database(login("admin", ""))), doctor.Skipped, "admin: not examined", "no DSN")

	found := examine(t, doctor.Database(login("work", "postgres://someone:hunter2@127.0.0.1:1/none")))
	finds(t, found, doctor.Blocker, "work: the database cannot be reached", "connection refused", "database.work")
	without(t, found, "hunter2")
	found = examine(t, doctor.Database(login("work", storetest.As(store.DatabaseWork, url)+"&password=hunter2")))
	finds(t, found, doctor.Blocker, "work: the database cannot be reached", "password authentication failed")
	without(t, found, "hunter2")
}

func TestSettingsThatBreakAPromiseBlock(t *testing.T) {
	t.Parallel()
	url := storetest.As(store.DatabaseIngress, database(t))
	// The tests' server does not survive a crash of the machine.
	for parameter, words := range map[string][]string{
		"":                                  {"ingress: fsync is off", "lose or damage"},
		"&application_name=x":               {"ingress: full_page_writes is off"},
		"&synchronous_commit=off":           {"ingress: synchronous_commit is off", "answered 2xx"},
		"&default_transaction_read_only=on": {"default_transaction_read_only is on", "nothing can be written"},
		"&default_transaction_isolation=repeatable%20read": {"default_transaction_isolation is repeatable read", "first copy"},
	} {
		finds(t, examine(t, doctor.Database(login("ingress", url+parameter))), doctor.Blocker, words...)
	}
}

func TestServersThatDoNotFitAreFound(t *testing.T) {
	t.Parallel()
	fit := func() store.ServerFacts {
		return store.ServerFacts{
			Version: "15.18", Major: 15, Encoding: "UTF8", Encrypted: true, Room: 97, ConnectionLimit: -1,
			Settings: map[string]string{"default_transaction_isolation": "read committed", "fsync": "on", "full_page_writes": "on", "synchronous_commit": "on", "autovacuum": "on"},
		}
	}
	l := login("work", "")
	require.Empty(t, examine(t, doctor.ServerCheck(l, fit())))
	for name, c := range map[string]struct {
		spoil func(*store.ServerFacts)
		level doctor.Level
		word  string
	}{
		"old":             {func(f *store.ServerFacts) { f.Version, f.Major = "14.9", 14 }, doctor.Blocker, "too old"},
		"standby":         {func(f *store.ServerFacts) { f.Standby = true }, doctor.Blocker, "standby"},
		"encoding":        {func(f *store.ServerFacts) { f.Encoding = "LATIN1" }, doctor.Blocker, "LATIN1"},
		"in clear":        {func(f *store.ServerFacts) { f.Encrypted = false }, doctor.Warning, "not encrypted"},
		"few connections": {func(f *store.ServerFacts) { f.Room = 7 }, doctor.Blocker, "max_connections"},
		"limited login":   {func(f *store.ServerFacts) { f.ConnectionLimit = 3 }, doctor.Blocker, "CONNECTION LIMIT"},
		"autovacuum":      {func(f *store.ServerFacts) { f.Settings["autovacuum"] = "off" }, doctor.Warning, "autovacuum"},
		"ahead":           {func(f *store.ServerFacts) { f.Ahead = 2 * time.Minute }, doctor.Warning, "differ by 2m0s"},
		"behind":          {func(f *store.ServerFacts) { f.Ahead = -2 * time.Minute }, doctor.Warning, "NTP"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			facts := fit()
			c.spoil(&facts)
			finds(t, examine(t, doctor.ServerCheck(l, facts)), c.level, c.word)
		})
	}
	unsure := fit()
	unsure.Ahead, unsure.Precision = 70*time.Second, 20*time.Second
	require.Empty(t, examine(t, doctor.ServerCheck(l, unsure)), "within what a slow answer allows to say")
	local := fit()
	local.Encrypted, local.Local = false, true
	require.Empty(t, examine(t, doctor.ServerCheck(l, local)))
}

func TestAClockThatDiffersFromTheDatabasesIsFound(t *testing.T) {
	t.Parallel()
	l := as(store.DatabaseWork, database(t))
	l.Options.Now = func() time.Time { return time.Now().Add(-5 * time.Minute) }
	finds(t, examine(t, doctor.Database(l)), doctor.Warning, "clock", "5m0s")
}

func TestConnectionsOfAllRolesMustFit(t *testing.T) {
	t.Parallel()
	url := database(t)
	sized := func(pool int) []doctor.Login {
		l := as(store.DatabaseWork, url)
		l.Pool = pool
		return []doctor.Login{login("ingress", "postgres://someone@127.0.0.1:1/none"), l}
	}
	finds(t, examine(t, doctor.Connections(sized(20))), doctor.OK, "up to 28 connections")
	finds(t, examine(t, doctor.Connections(sized(200))), doctor.Warning, "rolling restart")
	finds(t, examine(t, doctor.Connections(sized(2000))), doctor.Warning, "up to 2008 connections")
	finds(t, examine(t, doctor.Connections([]doctor.Login{login("work", "")})), doctor.Blocker, "no DSN")
}

func TestSchemasThatCannotBeUsedBlock(t *testing.T) {
	t.Parallel()
	keys := storetest.Options("").Keyring.Identity()
	files := fstest.MapFS{"0001_things.sql": {Data: []byte("-- +goose Up\nSELECT 1;\n")}}
	business := []doctor.BusinessSchema{{Name: "business", Migrations: files}}
	url := database(t)
	finds(t, examine(t, doctor.Schema(as(store.DatabaseIngress, url), &keys, nil)), doctor.OK, "ingress: the schema is this binary's")
	found := examine(t, doctor.Schema(login("migrate", url), &keys, business))
	finds(t, found, doctor.OK, "migrate: the schema")
	finds(t, found, doctor.Blocker, "schema business lacks 0001_things.sql", "migrate up")
	require.NoError(t, store.MigrateBusiness(t.Context(), storetest.Options(url), "business", files))
	finds(t, examine(t, doctor.Schema(login("migrate", url), &keys, business)), doctor.OK, "schema business")
	finds(t, examine(t, doctor.Schema(as(store.DatabaseWork, url), &keys, business)), doctor.Warning, "schema business", "owner")

	identity, keyset, err := keyring.Generate()
	require.NoError(t, err)
	other, err := keyring.Load(identity, keyset)
	require.NoError(t, err)
	foreign := other.Identity()
	finds(t, examine(t, doctor.Schema(as(store.DatabaseWork, url), &foreign, nil)), doctor.Blocker, "identity key")
	finds(t, examine(t, doctor.Schema(login("work", pgtest.Empty(t)), &keys, nil)), doctor.Blocker, "work: the schema is missing", "run oncehook migrate up")

	for spoil, words := range map[string][]string{
		`UPDATE oncehook.schema_versions SET checksum = 'x' WHERE version = 2`: {"0002_accept.sql", "differs"},
		`INSERT INTO oncehook.schema_versions VALUES (900, 'x', 900)`:          {"newer oncehook"},
		`REVOKE EXECUTE ON FUNCTION oncehook.schema_v1 FROM test_work`:         {"lacks a grant", "migrate roles"},
	} {
		url := database(t)
		execute(t, url, spoil)
		finds(t, examine(t, doctor.Schema(as(store.DatabaseWork, url), &keys, nil)), doctor.Blocker, words...)
	}
	finds(t, examine(t, doctor.Schema(login("work", "postgres://someone@127.0.0.1:1/none"), &keys, nil)), doctor.Skipped, "not examined")
}

func TestLoginsThatMayTooLittleOrTooMuchAreFound(t *testing.T) {
	t.Parallel()
	url := database(t)
	for _, role := range store.DatabaseRoles() {
		finds(t, examine(t, doctor.Grants(as(role, url), role, nil)), doctor.OK, "test_"+string(role), "nothing else")
	}
	finds(t, examine(t, doctor.Grants(login("work", url), store.DatabaseWork, nil)), doctor.Warning, "superuser", "migrate roles")
	execute(t, url, `GRANT DELETE ON oncehook.audit TO test_admin; REVOKE UPDATE (state) ON oncehook.receipts FROM test_work;
		CREATE SCHEMA business; CREATE TABLE business.things (n int)`)
	finds(t, examine(t, doctor.Grants(as(store.DatabaseAdmin, url), store.DatabaseAdmin, nil)), doctor.Warning, "may also DELETE ON TABLE oncehook.audit")
	finds(t, examine(t, doctor.Grants(as(store.DatabaseWork, url), store.DatabaseWork, []doctor.BusinessSchema{{Name: "business"}})), doctor.Blocker,
		"test_work lacks", `UPDATE ("state") ON TABLE oncehook.receipts`, "business.things")
	finds(t, examine(t, doctor.Grants(as(store.DatabaseIngress, url), store.DatabaseWork, nil)), doctor.Blocker, "more")
	execute(t, url, `ALTER TABLE oncehook.switches OWNER TO test_ingress`)
	finds(t, examine(t, doctor.Grants(as(store.DatabaseIngress, url), store.DatabaseIngress, nil)), doctor.Warning, "owns the tables")
	require.Empty(t, examine(t, doctor.Grants(login("work", ""), store.DatabaseWork, nil)))

	shared := examine(t, doctor.SharedLogins([]doctor.Login{login("ingress", url), login("work", url), as(store.DatabaseAdmin, url), login("migrate", "")}))
	require.Len(t, shared, 1)
	finds(t, shared, doctor.Warning, "ingress and work share one superuser login")
}

func TestPartitionsThatAreMissingOrFewAreFound(t *testing.T) {
	t.Parallel()
	l := as(store.DatabaseAdmin, database(t))
	finds(t, examine(t, doctor.Partitions(l)), doctor.OK, "14 more days")
	for ahead, words := range map[int]string{12: "2 more days only", 15: "today's partitions are missing"} {
		l.Options.Now = func() time.Time { return time.Now().AddDate(0, 0, ahead) }
		level := doctor.Warning
		if ahead == 15 {
			level = doctor.Blocker
		}
		finds(t, examine(t, doctor.Partitions(l)), level, words, "migrate up")
	}
}

func TestWhatIsNotDoneIsFound(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, nil)
	l := as(store.DatabaseAdmin, s.URL)
	found := examine(t, doctor.Backlog(l))
	finds(t, found, doctor.OK, "0 rows of the outbox", "no dead letters")
	finds(t, found, doctor.OK, "not swept yet")
	s.Accept(t, storetest.Event{ID: "event-1"})
	s.Accept(t, storetest.Event{ID: "event-2"})
	execute(t, s.URL, `
		UPDATE oncehook.outbox SET created_at = now() - interval '1 hour', alert = 'another run';
		UPDATE oncehook.receipts SET state = 'queued', version = version + 1;
		UPDATE oncehook.receipts SET state = 'dead_lettered', version = version + 1;
		INSERT INTO oncehook.actions (receipt_id, name, key, tenant, kind, state, run_no, idempotency_key, created_at, changed_at)
		SELECT id, 'billing.notify_customer', key, tenant, 'keyed', 'uncertain', 1, key, now(), now() FROM oncehook.receipts;
		UPDATE oncehook.reconciler SET swept_at = now() - interval '1 hour'`)
	found = examine(t, doctor.Backlog(l))
	finds(t, found, doctor.Warning, "the oldest of 2 rows", "1h0m", "oncehook work")
	finds(t, found, doctor.Warning, "2 starts wait for a person")
	finds(t, found, doctor.Warning, "of 2 actions nobody knows", "billing.notify_customer 2")
	finds(t, found, doctor.OK, "2 dead letters: logistics 2")
	finds(t, found, doctor.Warning, "the reconciler last swept 1h0m")
	execute(t, s.URL, `UPDATE oncehook.reconciler SET swept_at = now()`)
	finds(t, examine(t, doctor.Backlog(l)), doctor.OK, "the reconciler swept")
	finds(t, examine(t, doctor.Backlog(as(store.DatabaseIngress, s.URL))), doctor.Blocker, "permission denied", "migrate roles")
}

func TestKeysThatCannotBeUsedOrAreOldAreFound(t *testing.T) {
	t.Parallel()
	url := database(t)
	o := storetest.Options(url)
	load := func() (*keyring.Keyring, error) { return o.Keyring, nil }
	l := as(store.DatabaseAdmin, url)
	finds(t, examine(t, doctor.Keys(load, true, l, time.Now())), doctor.OK, "keyset holds")
	finds(t, examine(t, doctor.Keys(func() (*keyring.Keyring, error) { return nil, errors.New("keys.keyset: not a keyset") }, true, l, time.Now())),
		doctor.Blocker, "not a keyset", "restore")
	finds(t, examine(t, doctor.Keys(load, false, l, time.Now())), doctor.Warning, "temporal.codec")
	finds(t, examine(t, doctor.Keys(withoutPayloadKey, true, l, time.Now())), doctor.Warning, "no payload key", "oncehook keys add payload")

	for _, key := range o.Keyring.Keys() {
		execute(t, url, `INSERT INTO oncehook.key_uses VALUES ('`+key.Name()+`', now() - interval '400 days', now())
			ON CONFLICT (key) DO UPDATE SET first_seen_at = excluded.first_seen_at`)
	}
	found := examine(t, doctor.Keys(load, true, l, time.Now()))
	for _, key := range o.Keyring.Keys() {
		finds(t, found, doctor.Warning, "the "+string(key.Kind)+" key", "oncehook keys add")
	}
	finds(t, examine(t, doctor.Keys(load, true, as(store.DatabaseIngress, url), time.Now())), doctor.Warning, "age is unknown")
}

// withoutPayloadKey loads a keyset as installations had before there were payload keys.
func withoutPayloadKey() (*keyring.Keyring, error) {
	identity, keyset, err := keyring.Generate()
	if err != nil {
		return nil, err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(keyset, &parts); err != nil {
		return nil, err
	}
	delete(parts, "payload")
	if keyset, err = json.Marshal(parts); err != nil {
		return nil, err
	}
	return keyring.Load(identity, keyset)
}

func TestRolesThatConnectAlikeAreExaminedOnce(t *testing.T) {
	t.Parallel()
	one, other := login("ingress", "postgres://a"), login("admin", "postgres://b")
	work, migrate := login("work", "postgres://a"), login("migrate", "")
	work.Pool = 20
	merged := doctor.Together([]doctor.Login{one, work, other, migrate})
	require.Len(t, merged, 3)
	require.Equal(t, []string{"ingress and work", "admin", "migrate"}, []string{merged[0].Role, merged[1].Role, merged[2].Role})
	require.Equal(t, 20, merged[0].Pool)

	away := login("ingress and work", "postgres://someone@127.0.0.1:1/none")
	away.Setting = "database.url"
	found := examine(t, doctor.Database(away))
	finds(t, found, doctor.Blocker, "ingress and work: the database cannot be reached", "that database.url names it")
	without(t, found, "database.ingress")
	require.Equal(t, 1, strings.Count(found[0].Text, "connection refused"), "what each try said alike is told once: %s", found[0].Text)
}
