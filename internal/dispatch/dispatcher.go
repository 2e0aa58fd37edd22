package dispatch

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/oncehook/oncehook/internal/metrics"
	"github.com/oncehook/oncehook/internal/store"
)

// Config says what to dispatch, how, and how fast. Store and Client are needed.
type Config struct {
	Store *store.Work
	// Client must be dialled with RequestIDInterceptor.
	Client client.Client
	// DataConverter is the client's, to read memos. Defaults to the SDK's default.
	DataConverter converter.DataConverter
	// Log defaults to slog.Default; Metrics may be nil.
	Log     *slog.Logger
	Metrics *metrics.Metrics
	// Tracer makes a span of each start; nil makes none.
	Tracer trace.Tracer
	// Now is the process's clock. Leases follow the database's. Unused times
	// default to time.Now.
	Now func() time.Time
	// Local runs Local effects as local activities in the runs started from now on.
	Local bool
	// Eager lets a worker of this process, on the same client, begin a run
	// without a trip through the task queue. It must be off with worker versioning.
	Eager bool
	// Parallel is how many starts are under way at once. Defaults to 4.
	Parallel int
	// InFlight bounds, per source, the runs that wait for their first action.
	// Defaults to 200.
	InFlight int
	// Patience is how long such a run counts. Defaults to 5 min.
	Patience time.Duration
	// Lease is how long a claimed row is this process's own. It outlasts a batch
	// of starts and signals that all time out. Defaults to 30 s.
	Lease time.Duration
	// StartTimeout bounds one start. Defaults to 5 s.
	StartTimeout time.Duration
}

func (c Config) withDefaults() Config {
	if c.DataConverter == nil {
		c.DataConverter = converter.GetDefaultDataConverter()
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Parallel = orDefault(c.Parallel, 4)
	c.InFlight = orDefault(c.InFlight, 200)
	c.Patience = orDefault(c.Patience, 5*time.Minute)
	c.Lease = orDefault(c.Lease, 30*time.Second)
	c.StartTimeout = orDefault(c.StartTimeout, 5*time.Second)
	return c
}

func orDefault[T int | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// Dispatcher sends what is due in the outbox: starts and wake-ups of runs.
type Dispatcher struct {
	Config
	wake   chan struct{}
	outage outage
}

// New makes a Dispatcher; Run runs it.
func New(c Config) *Dispatcher {
	return &Dispatcher{Config: c.withDefaults(), wake: make(chan struct{}, 1)}
}

// Wake makes Run look at the outbox now. It never blocks.
func (d *Dispatcher) Wake() {
	select {
	case d.wake <- struct{}{}:
	default:
	}
}

// How often the outbox is looked at.
const (
	pollBusy = 5 * time.Millisecond
	pollIdle = 250 * time.Millisecond
	// pollAway is between looks while PostgreSQL does not answer.
	pollAway = time.Second
	// perStart is how many rows are claimed for each parallel start.
	perStart = 4
)

// Run dispatches until ctx ends, then finishes the starts under way and gives
// back what it did not begin. It survives PostgreSQL and Temporal being away.
func (d *Dispatcher) Run(ctx context.Context) error {
	queue := make(chan job)
	var starters sync.WaitGroup
	for range d.Parallel {
		starters.Go(func() {
			for j := range queue {
				j.send(context.WithoutCancel(ctx))
			}
		})
	}
	d.feed(ctx, queue)
	close(queue)
	starters.Wait()
	return nil
}

// job is one claimed outbox row.
type job struct {
	outboxID int64
	send     func(context.Context)
}

// feed claims rows and hands them to the starters until ctx ends.
func (d *Dispatcher) feed(ctx context.Context, queue chan<- job) {
	pause, readable := pollBusy, true
	for ctx.Err() == nil {
		batch := d.batch()
		jobs, more, err := d.claim(context.WithoutCancel(ctx), batch)
		if err != nil {
			if ctx.Err() != nil {
				return
			}
			if readable {
				d.Log.WarnContext(ctx, "the outbox cannot be read", "error", err.Error())
			}
			readable = false
			d.sleep(ctx, pollAway, nil)
			continue
		}
		if !readable {
			d.Log.InfoContext(ctx, "the outbox can be read again")
		}
		readable = true
		for n, j := range jobs {
			select {
			case queue <- j:
			case <-ctx.Done():
				d.giveBack(context.WithoutCancel(ctx), jobs[n:])
				return
			}
		}
		if len(jobs) > 0 {
			pause = pollBusy
		}
		if more {
			continue
		}
		if d.sleep(ctx, jittered(pause), d.wake) {
			pause = pollBusy
		} else {
			pause = min(2*pause, pollIdle)
		}
	}
}

// claim takes up to batch starts and half as many signals, in turn, and says
// whether there may be more. It is not broken off: the database might
// have leased rows to nobody.
func (d *Dispatcher) claim(ctx context.Context, batch int) (jobs []job, more bool, err error) {
	starts, err := d.claimStarts(ctx, batch)
	if err != nil {
		return nil, false, err
	}
	wakes := max(batch/2, 1)
	signals, err := d.claimSignals(ctx, wakes)
	if err != nil {
		// The starts are ours already; the signals come with the next claim.
		d.Log.WarnContext(ctx, "wake-ups cannot be read", "error", err.Error())
	}
	for n := range max(len(starts), len(signals)) {
		if n < len(starts) {
			jobs = append(jobs, job{starts[n].OutboxID, func(ctx context.Context) { d.start(ctx, starts[n]) }})
		}
		if n < len(signals) {
			jobs = append(jobs, job{signals[n].OutboxID, func(ctx context.Context) { d.signal(ctx, signals[n]) }})
		}
	}
	return jobs, len(starts) == batch || len(signals) == wakes, nil
}

func (d *Dispatcher) claimStarts(ctx context.Context, batch int) ([]store.Start, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return d.Store.ClaimStarts(ctx, store.ClaimLimits{
		Batch: batch, PerSource: batch, InFlight: d.InFlight, Patience: d.Patience, Lease: d.Lease, Local: d.Local,
	})
}

func (d *Dispatcher) claimSignals(ctx context.Context, batch int) ([]store.Signal, error) {
	ctx, cancel := context.WithTimeout(ctx, storeTime)
	defer cancel()
	return d.Store.ClaimSignals(ctx, batch, d.Lease)
}

// batch is one row while every start fails: enough to notice that one succeeds.
func (d *Dispatcher) batch() int {
	if d.outage.is() {
		return 1
	}
	return d.Parallel * perStart
}

// giveBack releases claimed rows that were not begun.
func (d *Dispatcher) giveBack(ctx context.Context, jobs []job) {
	ctx, cancel := context.WithTimeout(ctx, d.StartTimeout)
	defer cancel()
	for _, j := range jobs {
		if err := d.Store.RetryStart(ctx, j.outboxID, 0, "", ""); err != nil {
			d.Log.WarnContext(ctx, "a claimed row stays leased", "outbox_id", j.outboxID, "error", err.Error())
			return
		}
	}
}

// sleep waits for d or for a message on wake, and reports whether that came.
func (d *Dispatcher) sleep(ctx context.Context, pause time.Duration, wake <-chan struct{}) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case <-wake:
		return true
	}
	return false
}

// jittered spreads the polls of several processes: 75 % to 125 % of d.
func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.75 + rand.Float64()/2)) //nolint:gosec // spreads load, guards nothing
}

// outage remembers why the last start failed, when the reason holds for every start.
type outage struct {
	mu     sync.Mutex
	reason verdict
}

func (o *outage) is() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reason != ""
}

// set returns whether the reason, or "" for none, is news.
func (o *outage) set(reason verdict) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	news := o.reason != reason
	o.reason = reason
	return news
}
