package app

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook/internal/drain"
	"github.com/oncehook/oncehook/internal/store"
)

// Drain works until nothing is left that could go on now: the outbox has nothing
// due, and no run has anything to do before a signal, a timer or a later retry. Then
// it stops the worker in order and returns what waits, in words. An error says what
// was left: when the time ran out, when ctx ended before, or when all that is left
// needs a person. The time counts from the call, so that it covers a PostgreSQL or
// Temporal that does not answer.
func (a *App) Drain(ctx context.Context, limit time.Duration) (string, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	var (
		seen    atomic.Pointer[drain.Report]
		drained atomic.Bool
	)
	err := a.workUntil(limited, nil, func(ctx context.Context, work *store.Work, temporal client.Client) error {
		d := drain.New(drain.Config{Store: work, Client: temporal, Log: a.log, Now: time.Now})
		err := d.Wait(ctx, func(r drain.Report) { seen.Store(&r) })
		drained.Store(err == nil)
		return err
	})
	left := "nothing could be seen"
	if r := seen.Load(); r != nil {
		left = r.String()
	}
	switch {
	case drained.Load():
		return left, err
	case err != nil && !errors.Is(err, drain.ErrStuck):
		return left, err
	case ctx.Err() != nil:
		return left, fmt.Errorf("stopped before it was drained: %s", left)
	case errors.Is(err, drain.ErrStuck):
		return left, fmt.Errorf("not drained: %s", left)
	default:
		return left, fmt.Errorf("not drained within %s: %s", limit, left)
	}
}
