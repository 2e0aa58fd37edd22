package app

import (
	"context"
	"log/slog"

	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/store"
)

// Installed reports whether a configured database belongs to an installation
// already, which new keys could not open. An error means that none could be asked.
// The settings need no keys.
func Installed(ctx context.Context, settings *Settings) (bool, error) {
	var failed error
	for _, role := range []string{config.RoleMigrate, config.RoleAdmin, config.RoleWork, config.RoleIngress} {
		e, err := store.Examine(ctx, store.Options{
			URL: string(settings.DatabaseURL(role)), Log: slog.New(slog.DiscardHandler), ApplicationName: "oncehook keys",
		})
		if err != nil {
			failed = err
			continue
		}
		installed, err := e.Installed(ctx)
		e.Close()
		if err == nil {
			return installed, nil
		}
		failed = err
	}
	return false, failed
}
