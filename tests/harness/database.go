package harness

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"sync"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/store"
)

// Every process connects as its own role, which has what its statements need and
// nothing else; only migrate is the superuser.
const (
	rolePrefix   = "test_"
	rolePassword = "test"
	databases    = `{migrate: {file: db}, ingress: {file: db-ingress}, work: {file: db-work}, admin: {file: db-admin}}`
)

// roles lets one test at a time change the roles, which all databases of the server share.
var roles sync.Mutex

// MakeRoles makes the roles and lets them log in.
func (s *System) MakeRoles(a *app.App) {
	s.T.Helper()
	roles.Lock()
	defer roles.Unlock()
	ctx := context.Background()
	_, err := a.MakeRoles(ctx, rolePrefix, false)
	require.NoError(s.T, err)
	db, err := pgxpool.New(ctx, s.URL)
	require.NoError(s.T, err)
	defer db.Close()
	for _, role := range store.DatabaseRoles() {
		_, err := db.Exec(ctx, `ALTER ROLE `+rolePrefix+string(role)+` PASSWORD '`+rolePassword+`'`)
		require.NoError(s.T, err)
	}
}

// writeURLs writes the roles' DSNs, named so, to the database or to what stands
// before it.
func (s *System) writeURLs(name, through string, parameters map[string]string) {
	s.T.Helper()
	for _, role := range store.DatabaseRoles() {
		u, err := url.Parse(s.URL)
		require.NoError(s.T, err)
		u.User = url.UserPassword(rolePrefix+string(role), rolePassword)
		if through != "" {
			u.Host = through
		}
		q := u.Query()
		for key, value := range parameters {
			q.Set(key, value)
		}
		u.RawQuery = q.Encode()
		require.NoError(s.T, os.WriteFile(filepath.Join(s.dir, name+"-"+string(role)), []byte(u.String()), 0o600))
	}
}
