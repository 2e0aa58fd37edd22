package drain

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/oncehook/oncehook/internal/store"
)

// Config says what to look at. All of it is needed.
type Config struct {
	Store  *store.Work
	Client client.Client
	Log    *slog.Logger
	// Now is Temporal's clock, as near as there is: the next retries are its times.
	Now func() time.Time
}

// Drain looks until nothing could go on.
type Drain struct{ Config }

// New makes a Drain.
func New(c Config) *Drain { return &Drain{c} }

const (
	lookFirst = 100 * time.Millisecond
	lookMost  = time.Second
	// sayEvery is how often a drain that goes on says what is left.
	sayEvery = 10 * time.Second
	page     = 200
	parallel = 8
	askTime  = 10 * time.Second
)

// ErrStuck says that nothing could go on, but that outbox rows which are due need
// a person.
var ErrStuck = errors.New("outbox rows need a person")

// Wait returns once two looks in a row have found nothing that could go on, and
// nothing new between them: nil, or ErrStuck. It returns the error of ctx when
// that ends before. seen is told what each look found.
func (d *Drain) Wait(ctx context.Context, seen func(Report)) error {
	var last *Report
	pause, said := lookFirst, d.Now()
	for {
		found, err := d.look(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			d.Log.WarnContext(ctx, "the drain cannot see what is left", "error", err.Error())
			last, pause = nil, lookMost
		default:
			seen(found)
			if found.quiet() && last != nil && last.Outbox.Newest == found.Outbox.Newest {
				if found.Outbox.Stuck > 0 {
					return ErrStuck
				}
				return nil
			}
			last, pause = nil, min(2*pause, lookMost)
			if found.quiet() {
				last, pause = &found, lookFirst
			}
			if now := d.Now(); now.Sub(said) >= sayEvery {
				said = now
				d.Log.InfoContext(ctx, "the drain goes on", "left", found.String())
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// look is done at the first run that could go on.
func (d *Drain) look(ctx context.Context) (Report, error) {
	var r Report
	var err error
	if r.Outbox, err = d.Store.OutboxDue(ctx); err != nil || r.Outbox.Due > 0 {
		return r, err
	}
	var after *store.OpenRun
	for {
		runs, err := d.Store.OpenRuns(ctx, after, page)
		if err != nil {
			return r, err
		}
		if err := d.askAll(ctx, runs, &r); err != nil || r.Active != "" || len(runs) < page {
			return r, err
		}
		after = &runs[len(runs)-1]
	}
}

// askAll asks about the runs and adds what they came to.
func (d *Drain) askAll(ctx context.Context, runs []store.OpenRun, r *Report) error {
	var mu sync.Mutex
	asking, ctx := errgroup.WithContext(ctx)
	asking.SetLimit(parallel)
	for _, run := range runs {
		asking.Go(func() error {
			mu.Lock()
			done := r.Active != ""
			mu.Unlock()
			if done {
				return nil
			}
			p, why, err := d.ask(ctx, run)
			if err != nil {
				return err
			}
			mu.Lock()
			defer mu.Unlock()
			switch p {
			case active:
				r.Active, r.Why = run.Key, why
			case retrying:
				r.Retrying++
			case waiting:
				r.Waiting++
			}
			return nil
		})
	}
	return asking.Wait()
}
