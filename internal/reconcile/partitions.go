// Package reconcile compares what was accepted with what was completed, and
// keeps the tables that time divides ready.
package reconcile

import (
	"context"
	"log/slog"
	"time"

	"github.com/oncehook/oncehook/internal/metrics"
	"github.com/oncehook/oncehook/internal/store"
)

// partitionPeriod is far below the fortnight that partitions are made ahead.
const partitionPeriod = time.Hour

// retryPeriod follows a failure: PostgreSQL was away.
const retryPeriod = time.Minute

// KeepPartitions prepares partitions now and every hour until ctx ends, and calls
// first after its first try. It needs PostgreSQL alone, so that Temporal being
// away never lets the partitions run out.
func KeepPartitions(ctx context.Context, work *store.Work, log *slog.Logger, count *metrics.Reconcile, first func()) {
	for {
		period := partitionPeriod
		if err := work.PreparePartitions(ctx); err != nil && ctx.Err() == nil {
			count.Failed(ctx, "partitions")
			log.ErrorContext(ctx, "partitions could not be prepared", "error", err.Error())
			period = retryPeriod
		}
		first()
		first = func() {}
		select {
		case <-ctx.Done():
			return
		case <-time.After(period):
		}
	}
}
