package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/dispatch"
	"github.com/oncehook/oncehook/internal/reconcile"
	"github.com/oncehook/oncehook/internal/store"
)

const (
	// workerStopTimeout lets running attempts end, so that a stop burns none.
	workerStopTimeout = 6 * time.Second
	cachedWorkflows   = 1000
	schemaRetry       = 500 * time.Millisecond
)

// Work runs the dispatcher, the worker and the partition loop until ctx ends.
// ready is called once all of them run; it may be nil. Temporal and PostgreSQL
// may come later and go away: the outbox waits.
func (a *App) Work(ctx context.Context, ready func()) error {
	slots := a.settings.Work.LocalSlots
	work, err := store.OpenWork(ctx, a.storeOptions("work", workConns(slots)))
	if err != nil {
		return fmt.Errorf("open the work database: %w", err)
	}
	defer work.Close()

	// The partition loop needs PostgreSQL alone, so it starts before Temporal answers.
	ctx, cancel := context.WithCancel(ctx)
	var loops sync.WaitGroup
	defer loops.Wait()
	defer cancel()
	loops.Go(func() {
		if a.waitForSchema(ctx, work) == nil {
			reconcile.KeepPartitions(ctx, work, a.log)
		}
	})

	if err := a.waitForSchema(ctx, work); err != nil {
		return ended(ctx, err)
	}
	temporal, err := a.connect(ctx)
	if err != nil {
		return ended(ctx, err)
	}
	defer temporal.Close()

	w, fatal := a.newWorker(temporal, work, slots)
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}
	defer w.Stop()

	dispatcher := dispatch.New(dispatch.Config{
		Store: work, Client: temporal, Log: a.log, Metrics: a.metrics, Now: a.now, Local: a.settings.Work.Local, Eager: true,
	})
	a.setWake(dispatcher.Wake)
	defer a.setWake(nil)
	dispatched := make(chan error, 1)
	go func() { dispatched <- dispatcher.Run(ctx) }()
	if ready != nil {
		ready()
	}
	a.log.InfoContext(ctx, "worker runs", "task_queue", oncehook.TaskQueue, "local", a.settings.Work.Local)

	select {
	case err = <-dispatched:
	case err = <-fatal:
		cancel()
		err = errors.Join(err, <-dispatched)
	}
	return ended(ctx, err)
}

// workConns leaves each local slot a connection for its transaction and one for
// what stands outside it, beside the dispatcher's and finish's own two.
func workConns(slots int) int { return 2*slots + 4 }

func (a *App) newWorker(temporal client.Client, work *store.Work, slots int) (worker.Worker, <-chan error) {
	worker.SetStickyWorkflowCacheSize(cachedWorkflows)
	fatal := make(chan error, 1)
	w := worker.New(temporal, oncehook.TaskQueue, effect.WorkerOptions(worker.Options{
		MaxConcurrentLocalActivityExecutionSize: slots,
		MaxConcurrentActivityExecutionSize:      slots,
		WorkerStopTimeout:                       workerStopTimeout,
		Interceptors: []interceptor.WorkerInterceptor{a.registry.WorkerInterceptor(work,
			effect.WithLog(a.log),
			effect.OnAttempt(a.metrics.ActionAttempt),
			effect.OnEnd(func(ctx context.Context, state oncehook.State) { a.metrics.ReceiptEnd(ctx, string(state)) }),
		)},
		OnFatalError: func(err error) {
			select {
			case fatal <- fmt.Errorf("the worker failed: %w", err):
			default:
			}
		},
	}))
	a.registry.Register(w)
	a.parts.Workflows(w)
	return w, fatal
}

// waitForSchema returns when the schema can be used, or with the reason why it
// never will be with this binary. PostgreSQL may come later.
func (a *App) waitForSchema(ctx context.Context, work *store.Work) error {
	for {
		err := work.Schema(ctx)
		var unusable *store.SchemaError
		if err == nil || errors.As(err, &unusable) || ctx.Err() != nil {
			return err
		}
		a.log.WarnContext(ctx, "the database does not answer yet", "error", err.Error())
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(schemaRetry):
		}
	}
}

// ended turns the end of ctx into a clean return.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		return nil
	}
	return err
}
