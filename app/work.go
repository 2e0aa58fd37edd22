package app

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/dispatch"
	"github.com/oncehook/oncehook/internal/store"
)

const (
	// workerStopTimeout lets running attempts end by themselves, so that a stop
	// burns none. Then the contexts of those that are left are cancelled.
	workerStopTimeout = 4 * time.Second
	// recordTimeout is how long they may then take to record how they ended.
	recordTimeout = 1500 * time.Millisecond
	// workStopTimeout is when a stop no longer waits for attempts and starts.
	workStopTimeout = 6 * time.Second
	cachedWorkflows = 1000
)

// Work runs the dispatcher, the worker, the reconciler and the partition loop until ctx ends,
// and then returns within eight seconds. ready is called once all of them run;
// it may be nil. Temporal and PostgreSQL may come later and go away: the outbox
// waits.
func (a *App) Work(ctx context.Context, ready func()) error {
	return a.workUntil(ctx, ready, nil)
}

// until ends a worker by returning: with its error, or in order.
type until func(ctx context.Context, work *store.Work, temporal client.Client) error

// workUntil is Work that ends also when the last of its parts says so.
func (a *App) workUntil(ctx context.Context, ready func(), last until) error {
	slots := a.settings.Work.LocalSlots
	work, err := store.OpenWork(ctx, a.storeOptions("work", workConns(slots)))
	if err != nil {
		return fmt.Errorf("open the work database: %w", err)
	}
	state := &workerState{}
	shown, err := a.openOperations(ctx, state.ready(work.Schema))
	if err != nil {
		work.Close()
		return err
	}
	defer shown.close()
	defer a.flushTelemetry(ctx)
	running, cancel := context.WithCancel(ctx)
	defer cancel()
	context.AfterFunc(running, func() { state.stopping.Store(true) })
	result := make(chan error, 1)
	go func() {
		defer cancel()
		result <- a.work(running, cancel, work, state, ready, last)
	}()
	<-running.Done()
	select {
	case err = <-result:
	case <-time.After(workStopTimeout):
		a.log.WarnContext(ctx, "the worker did not stop in time: what it was doing is abandoned, and done again")
		if ctx.Err() == nil {
			err = errors.New("the worker failed and did not stop in time")
		}
	}
	closing, cancelClosing := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancelClosing()
	if closeErr := work.Shutdown(closing); closeErr != nil {
		a.log.WarnContext(ctx, "a database pool was not closed in order", "error", closeErr.Error())
	}
	return ended(ctx, err)
}

// work is workUntil without the bound on its end.
func (a *App) work(ctx context.Context, cancel context.CancelFunc, work *store.Work, state *workerState, ready func(), last until) error {
	var loops sync.WaitGroup
	defer loops.Wait()
	defer cancel()

	if err := errors.Join(a.observeBacklog(work), a.observePools("work", work.Pools)); err != nil {
		return err
	}
	if err := a.waitForSchema(ctx, work); err != nil {
		return err
	}
	// The partition loop needs PostgreSQL alone, so it starts before Temporal answers.
	partitions, err := a.keepPartitions(ctx, &loops, work)
	if err != nil {
		return err
	}
	data, err := a.dataConverter()
	if err != nil {
		return err
	}
	a.warnOfPlainHistories(ctx)
	temporal, err := a.connect(ctx)
	if err != nil {
		return err
	}
	defer temporal.Close()

	reconciler, err := a.reconciler(temporal, data, work)
	if err != nil {
		return err
	}

	attempting, interrupt := context.WithCancelCause(context.WithoutCancel(ctx))
	defer interrupt(worker.ErrWorkerShutdown)
	attempts := &effect.Attempts{}
	w, fatal := a.newWorker(attempting, attempts, temporal, data, work)
	if err := w.Start(); err != nil {
		return fmt.Errorf("start the worker: %w", err)
	}

	dispatcher := dispatch.New(dispatch.Config{
		Store: work, Client: temporal, DataConverter: data, Log: a.log, Metrics: a.metrics, Tracer: a.traces.Tracer("oncehook/dispatch"), Now: a.now, Local: a.settings.Work.Local, Eager: true,
	})
	a.setWake(dispatcher.Wake)
	defer a.setWake(nil)
	loops.Go(func() { reconciler.Run(ctx) })
	dispatched := make(chan struct{})
	go func() {
		defer close(dispatched)
		err = dispatcher.Run(ctx)
	}()
	health := func(ctx context.Context) error {
		_, err := temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
		return err
	}
	state.temporal.Store(&health)
	select {
	case <-partitions: // events of today find theirs
	case <-ctx.Done():
	}
	if ready != nil {
		ready()
	}
	a.log.InfoContext(ctx, "worker runs", "task_queue", oncehook.TaskQueue, "local", a.settings.Work.Local)

	over := make(chan error, 1)
	if last != nil {
		loops.Go(func() { over <- last(ctx, work, temporal) })
	}
	var failure error
	select {
	case <-ctx.Done():
	case <-dispatched:
	case failure = <-over:
	case failure = <-fatal:
	}
	cancel()
	defer time.AfterFunc(workerStopTimeout, func() { interrupt(worker.ErrWorkerShutdown) }).Stop()
	// A run that a start hands to this worker is begun here, unless the start hangs.
	select {
	case <-dispatched:
	case <-time.After(time.Second):
	}
	w.Stop()
	// Those that outlived their patience hand their place in the count back.
	interrupt(worker.ErrWorkerShutdown)
	recording, cancelRecording := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancelRecording()
	if left := attempts.Wait(recording); left > 0 {
		a.log.WarnContext(ctx, "attempts did not end when the worker stopped: they count as made", "attempts", left)
	}
	<-dispatched
	return errors.Join(failure, err)
}

// workConns leaves each local slot a connection for its transaction and one for
// what stands outside it, beside the dispatcher's and finish's own two.
func workConns(slots int) int { return 2*slots + 4 }

// remoteSlots is how many regular activities run at once: mostly remote effects,
// which hold no connection while they wait for another system's answer.
const remoteSlots = 16

// newWorker makes the worker. Its attempts' contexts come from attempting.
func (a *App) newWorker(attempting context.Context, attempts *effect.Attempts, temporal client.Client, data converter.DataConverter, work *store.Work) (worker.Worker, <-chan error) {
	slots := a.settings.Work.LocalSlots
	worker.SetStickyWorkflowCacheSize(cachedWorkflows)
	fatal := make(chan error, 1)
	w := worker.New(temporal, oncehook.TaskQueue, effect.WorkerOptions(worker.Options{
		MaxConcurrentLocalActivityExecutionSize: slots,
		MaxConcurrentActivityExecutionSize:      max(slots, remoteSlots),
		WorkerStopTimeout:                       workerStopTimeout,
		BackgroundActivityContext:               attempting,
		Interceptors: []interceptor.WorkerInterceptor{a.registry.WorkerInterceptor(work, append(a.effectTelemetry(),
			effect.WithLog(a.log),
			effect.WithDataConverter(data),
			effect.CountIn(attempts),
		)...)},
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
// never will be with this binary and this key. PostgreSQL, migrations and grants
// may come later.
func (a *App) waitForSchema(ctx context.Context, work *store.Work) error {
	var said time.Time
	return awaitSchema(ctx, work, func(fault store.SchemaFault) bool { return fault == store.SchemaPending }, func(err error) {
		if now := time.Now(); now.Sub(said) >= awayReminder {
			a.log.WarnContext(ctx, "the worker waits for its database", "error", err.Error())
			said = now
		}
	})
}

// ended turns the end of ctx into a clean return.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled) || errors.Is(err, ctx.Err())) {
		return nil
	}
	return err
}
