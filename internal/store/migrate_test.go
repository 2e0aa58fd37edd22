package store_test

import (
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

func TestMigrateIsSafeAtOnceAndAgain(t *testing.T) {
	url := pgtest.Empty(t)
	var wg sync.WaitGroup
	failures := make(chan error, 4)
	for range cap(failures) {
		wg.Go(func() { failures <- store.Migrate(t.Context(), options(url)) })
	}
	wg.Wait()
	close(failures)
	for err := range failures {
		require.NoError(t, err)
	}
	db := connect(t, url)
	require.NoError(t, store.CheckSchema(t.Context(), db, keys().Identity()))
	states, err := store.MigrationStatus(t.Context(), options(url))
	require.NoError(t, err)
	require.Equal(t, "0001_schema.sql", states[0].Name)
	for i, state := range states {
		require.EqualValues(t, i+1, state.Version, "migrations are numbered without a gap")
		require.True(t, state.Applied)
		require.WithinDuration(t, time.Now(), state.AppliedAt, time.Hour)
		require.Positive(t, state.ServesFrom)
	}
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.installation`))
}

func TestAnEmptyDatabaseIsUnusableButNotAway(t *testing.T) {
	url := pgtest.Empty(t)
	var unusable *store.SchemaError
	require.ErrorAs(t, store.CheckSchema(t.Context(), connect(t, url), keys().Identity()), &unusable)
	states, err := store.MigrationStatus(t.Context(), options(url))
	require.NoError(t, err)
	require.False(t, states[0].Applied)
	s := openIngress(t, options(url))
	_, err = s.Accept(t.Context(), []store.Candidate{copyOf("event-1")})
	require.ErrorIs(t, err, store.ErrUnavailable)
	require.ErrorAs(t, s.Schema(t.Context()), &unusable)
	// The process that waits for its schema goes on by itself.
	require.NoError(t, store.Migrate(t.Context(), options(url)))
	soon(t, func() bool { return s.Schema(t.Context()) == nil }, "usable")
	accept(t, s, copyOf("event-1"))
}

func TestAnUnfitSchemaIsRefusedByEveryRole(t *testing.T) {
	other, err := newKeyring()
	require.NoError(t, err)
	for name, test := range map[string]struct {
		spoil   string
		keyring *keyring.Keyring
		reason  string
		migrate bool // whether Migrate refuses too
	}{
		"changed migration":          {spoil: `UPDATE oncehook.schema_versions SET checksum = 'x' WHERE version = 2`, reason: "0002_accept.sql", migrate: true},
		"missing migration":          {spoil: `DELETE FROM oncehook.schema_versions WHERE version = 3`, reason: "lacks migration 0003_partitions.sql"},
		"serves newer binaries only": {spoil: `INSERT INTO oncehook.schema_versions VALUES (900, 'x', 900)`, reason: "serves binaries from schema version 900 on"},
		"another identity":           {keyring: other, reason: "keys.identity", migrate: true},
		"no identity stored":         {spoil: `DELETE FROM oncehook.installation`, reason: "run migrate up"},
	} {
		t.Run(name, func(t *testing.T) {
			o := options(database(t))
			if test.keyring != nil {
				o.Keyring = test.keyring
			}
			if test.spoil != "" {
				_, err := connect(t, o.URL).Exec(t.Context(), test.spoil)
				require.NoError(t, err)
			}
			i := openIngress(t, o)
			w, err := store.OpenWork(t.Context(), o)
			require.NoError(t, err)
			t.Cleanup(w.Close)
			a, err := store.OpenAdmin(t.Context(), o)
			require.NoError(t, err)
			t.Cleanup(a.Close)
			var unusable *store.SchemaError
			for _, err := range []error{i.Schema(t.Context()), w.Schema(t.Context()), a.Schema(t.Context())} {
				require.ErrorAs(t, err, &unusable)
				require.Contains(t, unusable.Reason, test.reason)
			}
			if test.migrate {
				require.ErrorAs(t, store.Migrate(t.Context(), o), &unusable)
			}
		})
	}
}

func TestANewerSchemaThatStillServesUsIsFine(t *testing.T) {
	o := options(database(t))
	db := connect(t, o.URL)
	_, err := db.Exec(t.Context(), `INSERT INTO oncehook.schema_versions VALUES (900, 'x', 1)`)
	require.NoError(t, err)
	require.NoError(t, store.CheckSchema(t.Context(), db, keys().Identity()))
	require.NoError(t, store.Migrate(t.Context(), o))
	states, err := store.MigrationStatus(t.Context(), o)
	require.NoError(t, err)
	require.EqualValues(t, 900, states[len(states)-1].Version)
	require.Empty(t, states[len(states)-1].Name)
}

func TestABusinessSchemaHasMigrationsOfItsOwn(t *testing.T) {
	o := options(database(t))
	files := fstest.MapFS{"0001_things.sql": {Data: []byte("-- +goose Up\nCREATE TABLE things (n int);\n")}}
	require.NoError(t, store.MigrateBusiness(t.Context(), o, "business", files))
	require.NoError(t, store.MigrateBusiness(t.Context(), o, "business", files))
	db := connect(t, o.URL)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM business.schema_versions WHERE version = 1`))
	require.Zero(t, number(t, db, `SELECT count(*) FROM business.things`))

	files["0002_more.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nCREATE TABLE more (n int);\nCREATE TABLE things (n int);\n")}
	require.ErrorContains(t, store.MigrateBusiness(t.Context(), o, "business", files), "42P07")
	require.Zero(t, number(t, db, `SELECT count(*) FROM pg_tables WHERE schemaname = 'business' AND tablename = 'more'`), "a failed migration leaves nothing")

	files["0001_things.sql"].Data = []byte("-- +goose Up\nCREATE TABLE things (n bigint);\n")
	var unusable *store.SchemaError
	require.ErrorAs(t, store.MigrateBusiness(t.Context(), o, "business", files), &unusable)
	for _, name := range []string{"", "oncehook", "a;b", "A", `x"y`} {
		require.Error(t, store.MigrateBusiness(t.Context(), o, name, files))
	}
}

func TestAMalformedURLIsAnErrorWithoutItsPassword(t *testing.T) {
	for _, url := range []string{"", "postgres://u:hunter2@[::1/x", "postgres://u:hunter2@host/db?sslmode=sometimes"} {
		_, err := store.OpenIngress(t.Context(), options(url))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
