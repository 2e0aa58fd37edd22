package reconcile

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"time"

	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/oncehook/oncehook/internal/metrics"
	"github.com/oncehook/oncehook/internal/store"
)

// Config says what to compare. Store and Client are needed.
type Config struct {
	Store  *store.Work
	Client client.Client
	// Namespace is the client's. Defaults to Temporal's default namespace.
	Namespace string
	// DataConverter is the client's, to read memos. Defaults to the SDK's default.
	DataConverter converter.DataConverter
	// IsAction says whether an activity's name is an action's. Defaults to all.
	IsAction func(name string) bool
	// Log defaults to slog.Default; Metrics may be nil.
	Log     *slog.Logger
	Metrics *metrics.Reconcile
	// Now is the process's clock, which stored times follow. Defaults to time.Now.
	Now func() time.Time
	// Period is the time between sweeps, give or take a quarter. Defaults to 15 s.
	Period time.Duration
	// KeepOutbox is how long a dispatched outbox row outlives its receipt's end.
	// Defaults to 7 days.
	KeepOutbox time.Duration
}

const (
	// settle is how long a receipt must be unchanged before it is looked at: in
	// step with the period, so that a minute holds both.
	settle = 15 * time.Second
	// sweepTime bounds a sweep. It is below sweepLease, so that two never meet.
	sweepTime  = 25 * time.Second
	sweepLease = 30 * time.Second
	// pageSize and maxPages bound what one sweep reads of each list.
	pageSize = 500
	maxPages = 40
	// maxLooks bounds the calls of Temporal in one sweep, lookEvery their rate.
	maxLooks  = 300
	lookEvery = 20 * time.Millisecond
	callTime  = 5 * time.Second
)

func (c Config) withDefaults() Config {
	if c.Namespace == "" {
		c.Namespace = client.DefaultNamespace
	}
	if c.DataConverter == nil {
		c.DataConverter = converter.GetDefaultDataConverter()
	}
	if c.IsAction == nil {
		c.IsAction = func(string) bool { return true }
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Period <= 0 {
		c.Period = 15 * time.Second
	}
	if c.KeepOutbox <= 0 {
		c.KeepOutbox = 7 * 24 * time.Hour
	}
	return c
}

// Reconciler finds what was accepted and never completed although nobody works
// on it any more, and settles it: it starts the run again, or writes the end that
// the run really had.
type Reconciler struct {
	Config
	retention namespaceRetention
	// closedSince is from when on closed runs are asked for, by Temporal's clock.
	closedSince time.Time
}

// New makes a Reconciler; Run runs it.
func New(c Config) *Reconciler { return &Reconciler{Config: c.withDefaults()} }

// Run sweeps until ctx ends. Of several processes one sweeps at a time. It
// survives PostgreSQL and Temporal being away, and concludes nothing meanwhile.
func (r *Reconciler) Run(ctx context.Context) {
	for {
		r.Sweep(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(jittered(r.Period)):
		}
	}
}

// jittered spreads the sweeps of several processes: 75 % to 125 % of d.
func jittered(d time.Duration) time.Duration {
	return time.Duration(float64(d) * (0.75 + rand.Float64()/2)) //nolint:gosec // spreads load, guards nothing
}
