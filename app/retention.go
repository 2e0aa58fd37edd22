package app

import (
	"context"

	"github.com/oncehook/oncehook/internal/store"
)

// Retain deletes what is past its retention, or only says what it would delete.
// It may be killed at any moment and run again.
func (a *App) Retain(ctx context.Context, apply bool) ([]store.RetentionLine, error) {
	k := a.settings.Retention
	return store.Retain(ctx, a.storeOptions("migrate", migrateConns), store.RetentionClocks{
		Payloads: k.Payloads, Keys: k.Keys, Audit: k.Audit, Actions: k.Actions, Outbox: k.Outbox,
	}, apply)
}
