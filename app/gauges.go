package app

import (
	"context"

	"github.com/oncehook/oncehook/internal/metrics"
	"github.com/oncehook/oncehook/internal/store"
)

// observe shows what PostgreSQL knows of the work to do, where /metrics is
// served: it is true whichever process does that work, and also when none does.
func (a *App) observe(admin *store.Admin) error {
	err := a.metrics.ObserveOutbox(func(ctx context.Context) (metrics.Outbox, error) {
		seen, err := admin.OutboxStats(ctx)
		if err != nil {
			return metrics.Outbox{}, err
		}
		return metrics.Outbox{OldestSeconds: seen.Oldest.Seconds(), Pending: seen.Pending, NeedingAPerson: seen.Alerts}, nil
	})
	if err != nil {
		return err
	}
	return a.metrics.ObservePartitions(admin.PartitionDays)
}
