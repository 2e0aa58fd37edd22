package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func openAdmin(t testing.TB, o store.Options) *store.Admin {
	t.Helper()
	s, err := store.OpenAdmin(t.Context(), as(t, store.DatabaseAdmin, o))
	require.NoError(t, err)
	t.Cleanup(s.Close)
	return s
}

func newToken(t testing.TB) oncehook.Secret {
	t.Helper()
	token, err := store.NewOperatorToken()
	require.NoError(t, err)
	return token
}

var everything = store.Scope{Sources: []string{store.Everything}, Tenants: []string{store.Everything}}

func TestTheConfiguredTokenIsAnAdminsHoweverOftenItIsEnsured(t *testing.T) {
	t.Parallel()
	url := database(t)
	admin, db := openAdmin(t, options(url)), connect(t, url)
	token := newToken(t)
	for range 3 {
		require.NoError(t, admin.EnsureAdmin(t.Context(), "admin", token))
	}
	operator, err := admin.Authenticate(t.Context(), token)
	require.NoError(t, err)
	require.Equal(t, "admin", operator.Name)
	require.Equal(t, store.RoleAdmin, operator.Role)
	require.Equal(t, everything, operator.Scope)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.operators`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.operator_tokens`))
	require.Zero(t, number(t, db, `SELECT count(*) FROM oncehook.operator_tokens WHERE position($1::bytea in hash) > 0`, []byte(token)[3:]),
		"only a hash is kept")
}

func TestAnotherConfiguredTokenRevokesTheEarlierOne(t *testing.T) {
	t.Parallel()
	admin := openAdmin(t, options(database(t)))
	first, second := newToken(t), newToken(t)
	require.NoError(t, admin.EnsureAdmin(t.Context(), "admin", first))
	require.NoError(t, admin.EnsureAdmin(t.Context(), "admin", second))
	_, err := admin.Authenticate(t.Context(), first)
	require.ErrorIs(t, err, store.ErrUnauthenticated)
	_, err = admin.Authenticate(t.Context(), second)
	require.NoError(t, err)
	require.Error(t, admin.EnsureAdmin(t.Context(), "another", second), "a token is one operator's")
}

func TestTokensThatAreNotValidAreRefusedAndStaySo(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]string{
		"expired":  `UPDATE oncehook.operator_tokens SET expires_at = now() - interval '1 second'`,
		"revoked":  `UPDATE oncehook.operator_tokens SET revoked_at = now()`,
		"disabled": `UPDATE oncehook.operators SET disabled_at = now()`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url := database(t)
			admin, token := openAdmin(t, options(url)), newToken(t)
			require.NoError(t, admin.EnsureAdmin(t.Context(), "admin", token))
			_, err := admin.Authenticate(t.Context(), token)
			require.NoError(t, err)
			_, err = connect(t, url).Exec(t.Context(), spoil)
			require.NoError(t, err)
			_, err = admin.Authenticate(t.Context(), token)
			require.ErrorIs(t, err, store.ErrUnauthenticated)
			require.NoError(t, admin.EnsureAdmin(t.Context(), "admin", token), "a later migrate changes nothing")
			_, err = admin.Authenticate(t.Context(), token)
			require.ErrorIs(t, err, store.ErrUnauthenticated)
		})
	}
}

func TestWhatCannotBeATokenIsRefusedWithoutADatabase(t *testing.T) {
	t.Parallel()
	admin := openAdmin(t, options("postgres://nobody@127.0.0.1:1/none"))
	for _, token := range []string{"", "oh_", "oh_short", strings.Repeat("x", 60), "oh_" + strings.Repeat("x", 5000)} {
		_, err := admin.Authenticate(t.Context(), oncehook.Secret(token))
		require.ErrorIs(t, err, store.ErrUnauthenticated)
		require.NotErrorIs(t, err, store.ErrAway)
		require.Error(t, admin.EnsureAdmin(t.Context(), "admin", oncehook.Secret(token)))
	}
	_, err := admin.Authenticate(t.Context(), newToken(t))
	require.ErrorIs(t, err, store.ErrAway, "nobody knows whether a well-formed one is valid")
	_, err = admin.Trace(t.Context(), everything, copyOf("x").ReceiptID)
	require.ErrorIs(t, err, store.ErrAway)
}
