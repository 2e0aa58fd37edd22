package store_test

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func examine(t testing.TB, o store.Options) *store.Examination {
	t.Helper()
	e, err := store.Examine(t.Context(), o)
	require.NoError(t, err)
	t.Cleanup(e.Close)
	return e
}

func TestAnExaminationTellsTheServerAndTheLogin(t *testing.T) {
	t.Parallel()
	o := options(database(t))
	facts, err := examine(t, o).Server(t.Context())
	require.NoError(t, err)
	require.GreaterOrEqual(t, facts.Major, 15)
	require.True(t, facts.Superuser)
	require.True(t, facts.Local)
	require.False(t, facts.Standby)
	require.Equal(t, "UTF8", facts.Encoding)
	require.Equal(t, "off", facts.Settings["fsync"])
	require.Equal(t, "read committed", facts.Settings["default_transaction_isolation"])
	require.Positive(t, facts.Room)
	require.Less(t, facts.Ahead.Abs(), 10*time.Second)

	o.URL = storetest.As(store.DatabaseWork, o.URL) + "&synchronous_commit=off"
	o.Now = func() time.Time { return time.Now().Add(-time.Hour) }
	facts, err = examine(t, o).Server(t.Context())
	require.NoError(t, err)
	require.Equal(t, "test_work", facts.Login)
	require.False(t, facts.Superuser)
	require.Equal(t, "off", facts.Settings["synchronous_commit"], "as this login's sessions have it")
	require.InDelta(t, time.Hour, facts.Ahead, float64(10*time.Second))
}

func TestAnExaminationComparesPrivilegesWithWhatIsDeclared(t *testing.T) {
	t.Parallel()
	o := options(database(t))
	for _, role := range store.DatabaseRoles() {
		own := o
		own.URL = storetest.As(role, o.URL)
		facts, err := examine(t, own).Grants(t.Context(), role, nil)
		require.NoError(t, err)
		require.False(t, facts.Owner, role)
		require.Empty(t, append(facts.Missing, facts.Surplus...), role)
	}
	facts, err := examine(t, o).Grants(t.Context(), store.DatabaseIngress, nil)
	require.NoError(t, err)
	require.True(t, facts.Owner)
	require.Empty(t, facts.Missing)

	db := connect(t, o.URL)
	name, roleURL := loginRole(t, db, o.URL, `test_work`, `DELETE ON oncehook.audit`, `UPDATE (key) ON oncehook.receipts`)
	_, err = db.Exec(t.Context(), `REVOKE UPDATE (state) ON oncehook.receipts FROM test_work; REVOKE EXECUTE ON FUNCTION oncehook.data_key_v1 FROM test_work;
		CREATE SCHEMA business CREATE TABLE things (n int)`)
	require.NoError(t, err)
	own := o
	own.URL = roleURL
	facts, err = examine(t, own).Grants(t.Context(), store.DatabaseWork, []string{"business"})
	require.NoError(t, err)
	require.False(t, facts.Owner, name)
	require.Equal(t, []string{
		`EXECUTE ON FUNCTION oncehook.data_key_v1(p_id bigint)`, `UPDATE ("state") ON TABLE oncehook.receipts`,
		`DELETE, INSERT, SELECT, UPDATE ON TABLE business.things`, `USAGE ON SCHEMA business`,
	}, facts.Missing)
	require.Equal(t, []string{`DELETE ON TABLE oncehook.audit`, `UPDATE ("key") ON TABLE oncehook.receipts`}, facts.Surplus, "membership in the role is as good as being it")
}

func TestAnExaminationChecksSchemas(t *testing.T) {
	t.Parallel()
	o := options(database(t))
	e := examine(t, o)
	identity := keys().Identity()
	require.NoError(t, e.Schema(t.Context(), &identity))
	other, err := newKeyring()
	require.NoError(t, err)
	foreign := other.Identity()
	var unusable *store.SchemaError
	require.ErrorAs(t, e.Schema(t.Context(), &foreign), &unusable)
	require.Equal(t, store.SchemaForeign, unusable.Fault)
	require.NoError(t, e.Schema(t.Context(), nil))

	files := fstest.MapFS{"0001_things.sql": {Data: []byte("-- +goose Up\nCREATE TABLE things (n int);\n")}}
	missing, err := e.BusinessSchema(t.Context(), "business", files)
	require.NoError(t, err)
	require.Equal(t, []string{"0001_things.sql"}, missing)
	require.NoError(t, store.MigrateBusiness(t.Context(), o, "business", files))
	missing, err = e.BusinessSchema(t.Context(), "business", files)
	require.NoError(t, err)
	require.Empty(t, missing)
}

func TestAnExaminationThatCannotConnectSaysWhyWithoutThePassword(t *testing.T) {
	t.Parallel()
	url := database(t)
	_, roleURL := loginRole(t, connect(t, url), url)
	for _, o := range []store.Options{
		options("postgres://someone:hunter2@127.0.0.1:1/none"), options("postgres://someone:hunter2@[::1/x"), options(roleURL + "&password=hunter2"),
	} {
		_, err := store.Examine(context.Background(), o)
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
