package store

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"github.com/oncehook/oncehook"
)

// gate knows whether the schema is usable. It asks in the background until the
// answer is yes, and whoever needs to know sooner joins in the asking.
type gate struct {
	pool     *pgxpool.Pool
	identity oncehook.Identity
	log      *slog.Logger
	usable   atomic.Bool
	asking   singleflight.Group
	stop     context.CancelFunc
	done     chan struct{}
}

const (
	gateTimeout = 3 * time.Second
	gateEvery   = time.Second
)

func openGate(pool *pgxpool.Pool, identity oncehook.Identity, log *slog.Logger) *gate {
	ctx, stop := context.WithCancel(context.Background())
	g := &gate{pool: pool, identity: identity, log: log, stop: stop, done: make(chan struct{})}
	go g.watch(ctx)
	return g
}

func (g *gate) close() {
	g.stop()
	<-g.done
}

// watch logs what keeps the role from working, each new reason once.
func (g *gate) watch(ctx context.Context) {
	defer close(g.done)
	ticker := time.NewTicker(gateEvery)
	defer ticker.Stop()
	last := ""
	for {
		err := g.check(ctx)
		if err == nil || ctx.Err() != nil {
			return
		}
		if unusable, ok := errors.AsType[*SchemaError](err); ok && unusable.Reason != last {
			last = unusable.Reason
			g.log.Error("the database schema is unusable", "reason", unusable.Reason)
		}
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
	}
}

// check returns at once when the schema was found usable before.
func (g *gate) check(ctx context.Context) error {
	if g.usable.Load() {
		return nil
	}
	answer := g.asking.DoChan("", func() (any, error) {
		// Detached: one caller that goes away must not fail the others.
		ctx, cancel := context.WithTimeout(context.Background(), gateTimeout)
		defer cancel()
		err := CheckSchema(ctx, g.pool, g.identity)
		if err == nil {
			g.usable.Store(true)
		}
		return nil, err
	})
	select {
	case <-ctx.Done():
		return ctx.Err()
	case result := <-answer:
		return result.Err
	}
}
