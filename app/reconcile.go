package app

import (
	"context"
	"fmt"
	"sync"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/oncehook/oncehook/internal/reconcile"
	"github.com/oncehook/oncehook/internal/store"
)

// keepPartitions starts the partition loop. The channel closes after its first try.
func (a *App) keepPartitions(ctx context.Context, loops *sync.WaitGroup, work *store.Work) (<-chan struct{}, error) {
	instruments, err := a.metrics.Reconcile()
	if err != nil {
		return nil, err
	}
	tried := make(chan struct{})
	loops.Go(func() { reconcile.KeepPartitions(ctx, work, a.log, instruments, func() { close(tried) }) })
	return tried, nil
}

// reconciler makes the reconciler of a worker's process, over its client.
func (a *App) reconciler(temporal client.Client, data converter.DataConverter, work *store.Work) (*reconcile.Reconciler, error) {
	options, err := a.TemporalOptions()
	if err != nil {
		return nil, err
	}
	instruments, err := a.metrics.Reconcile()
	if err != nil {
		return nil, err
	}
	if err := a.observeSweeps(work); err != nil {
		return nil, err
	}
	actions := map[string]bool{}
	for _, action := range a.parts.Actions {
		actions[action.Declaration().Name] = true
	}
	return reconcile.New(reconcile.Config{
		Store: work, Client: temporal, Namespace: options.Namespace, DataConverter: data, Log: a.log, Metrics: instruments, Now: a.now,
		IsAction:   func(name string) bool { return actions[name] },
		KeepOutbox: a.settings.Retention.Outbox,
	}), nil
}

// observeSweeps shows how old the last sweep is, whichever process made it.
func (a *App) observeSweeps(in *store.Work) error {
	err := a.metrics.ObserveLastSweep(func(ctx context.Context) (float64, bool, error) {
		age, ok, err := in.LastSweep(ctx)
		return age.Seconds(), ok, err
	})
	if err != nil {
		return fmt.Errorf("show the reconciler's sweeps: %w", err)
	}
	return nil
}
