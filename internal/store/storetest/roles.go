package storetest

import (
	"context"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook/internal/store"
)

// The roles of the tests' server.
const (
	rolePrefix   = "test_"
	rolePassword = "test"
)

// MakeRoles gives a migrated database roles, for As. Tables of a test's own in the
// schema public are work's to use, as an effect's would be.
func MakeRoles(ctx context.Context, o store.Options, business ...string) error {
	if _, err := store.MakeRoles(ctx, o, rolePrefix, business, false); err != nil {
		return err
	}
	conn, err := pgx.Connect(ctx, o.URL)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	statements := `ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT ALL ON TABLES TO ` + rolePrefix + string(store.DatabaseWork) + `;`
	for _, role := range store.DatabaseRoles() {
		statements += `ALTER ROLE ` + rolePrefix + string(role) + ` PASSWORD '` + rolePassword + `';`
	}
	_, err = conn.Exec(ctx, statements)
	return err
}

// As returns the URL with which the role connects to a copy of a database where
// MakeRoles ran.
func As(role store.DatabaseRole, databaseURL string) string {
	u, err := url.Parse(databaseURL)
	if err != nil {
		return databaseURL
	}
	u.User = url.UserPassword(rolePrefix+string(role), rolePassword)
	return u.String()
}
