package app

import (
	"context"

	"github.com/oncehook/oncehook/internal/store"
)

// MakeRoles makes the roles of PostgreSQL whose names begin with the prefix, where
// they are missing, gives them what this version declares, and remembers them for
// Migrate. With dry, it only says what it would do. The error is
// store.ErrMayNotCreateRoles when the login of migrate may not; the report then
// has the SQL for somebody who may.
func (a *App) MakeRoles(ctx context.Context, prefix string, dry bool) (store.RolesReport, error) {
	var schemas []string
	for _, schema := range a.parts.Schemas {
		schemas = append(schemas, schema.Name)
	}
	return store.MakeRoles(ctx, a.storeOptions("migrate", migrateConns), prefix, schemas, dry)
}
