package app

import (
	"context"

	"github.com/oncehook/oncehook/internal/metrics"
	"github.com/oncehook/oncehook/internal/store"
)

// backlogReader is a role that may read what is not done.
type backlogReader interface {
	Backlog(ctx context.Context) (store.Backlog, error)
	PartitionDays(ctx context.Context) (int64, error)
}

// observeBacklog shows what PostgreSQL knows of the work to do: it is true
// whichever process does that work, and also when none does.
func (a *App) observeBacklog(in backlogReader) error {
	err := a.metrics.ObserveBacklog(func(ctx context.Context) (metrics.Backlog, error) {
		seen, err := in.Backlog(ctx)
		if err != nil {
			return metrics.Backlog{}, err
		}
		return metrics.Backlog{
			OldestSeconds: seen.Oldest.Seconds(), Pending: seen.Pending, NeedingAPerson: seen.Alerts,
			DeadLetters: seen.DeadLetters, Uncertain: seen.Uncertain, Parked: seen.Parked,
		}, nil
	})
	if err != nil {
		return err
	}
	return a.metrics.ObservePartitions(in.PartitionDays)
}

func (a *App) observeQueue(in *store.Ingress) error {
	return a.metrics.ObserveAcceptQueue(func(context.Context) (metrics.Queue, error) {
		s := in.Stats()
		return metrics.Queue{Events: int64(s.QueuedEvents), Bytes: s.QueuedBytes}, nil
	})
}

// observePools shows a role's connections.
func (a *App) observePools(role string, pools func() []store.PoolStat) error {
	return a.metrics.ObservePools(role, func() []metrics.Pool {
		var shown []metrics.Pool
		for _, p := range pools() {
			shown = append(shown, metrics.Pool{
				Name: p.Name, Used: p.Used, Idle: p.Idle, Most: p.Most, Waits: p.Waits, WaitSeconds: p.Waited.Seconds(),
			})
		}
		return shown
	})
}

// observeKeys shows for how long the keys in use have been known.
func (a *App) observeKeys(admin *store.Admin) error {
	return a.metrics.ObserveKeys(func(ctx context.Context) (map[string]float64, error) {
		return admin.KeyAges(ctx, a.keys.Keys())
	})
}
