package app

import (
	"context"
	"fmt"

	"github.com/oncehook/oncehook/internal/store"
)

// migrateConns suffices for goose's locked session and the statements beside it.
const migrateConns = 2

// Migrate brings the schema, the business schemas and the partitions up to date
// and makes the first admin of the configured token. It is safe to run twice
// and from two processes at once.
func (a *App) Migrate(ctx context.Context) error {
	options := a.storeOptions("migrate", migrateConns)
	if err := store.Migrate(ctx, options); err != nil {
		return fmt.Errorf("migrate: %w", err)
	}
	for _, schema := range a.parts.Schemas {
		if err := store.MigrateBusiness(ctx, options, schema.Name, schema.Migrations); err != nil {
			return fmt.Errorf("migrate schema %s: %w", schema.Name, err)
		}
	}
	if len(a.settings.Admin.Token) == 0 {
		return nil
	}
	admin, err := store.OpenAdmin(ctx, options)
	if err != nil {
		return fmt.Errorf("open the database for the first admin: %w", err)
	}
	defer admin.Close()
	if err := admin.EnsureAdmin(ctx, firstAdmin, a.settings.Admin.Token); err != nil {
		return fmt.Errorf("make the first admin: %w", err)
	}
	return nil
}

// firstAdmin is the operator whom the configured admin token belongs to.
const firstAdmin = "admin"

// MigrationStatus lists the migrations this binary knows and when they were applied.
func (a *App) MigrationStatus(ctx context.Context) ([]store.MigrationState, error) {
	return store.MigrationStatus(ctx, a.storeOptions("migrate", migrateConns))
}
