package app

import (
	"context"
	"time"
)

const (
	// askEvery is how often PostgreSQL is asked whether it answers.
	askEvery = 5 * time.Second
	// askAgain is how soon it is asked again while it does not.
	askAgain = time.Second
	askTime  = 3 * time.Second
)

type answering interface {
	Ping(ctx context.Context) error
}

// watchDatabase says in the log when PostgreSQL does not answer, at the start or
// later, and when it does again: once each. It returns when ctx ends.
func (a *App) watchDatabase(ctx context.Context, role string, database answering) {
	away := false
	for {
		err := ask(ctx, database)
		if ctx.Err() != nil {
			return
		}
		pause := askEvery
		switch {
		case err != nil && !away:
			a.log.WarnContext(ctx, "postgresql does not answer; what needs it is answered 503 until it does", "role", role, "error", err.Error())
		case err == nil && away:
			a.log.InfoContext(ctx, "postgresql answers again", "role", role)
		}
		if away = err != nil; away {
			pause = askAgain
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
	}
}

func ask(ctx context.Context, database answering) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	return database.Ping(ctx)
}
