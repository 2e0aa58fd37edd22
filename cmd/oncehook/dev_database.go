package main

import (
	"context"
	"fmt"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack"
)

// database is a PostgreSQL that dev runs, or one that was given.
type database struct {
	url    string
	config devstack.PostgresConfig
	server *devstack.Postgres // nil when it was given
}

const devDatabase = "oncehook"

func (d *dev) startDatabase(ctx context.Context) (*database, error) {
	if url, ok := d.environ(oncehook.EnvDatabaseURL); ok && url != "" {
		d.say.line("using the PostgreSQL that " + oncehook.EnvDatabaseURL + " names")
		return &database{url: url}, nil
	}
	config := devstack.PostgresConfig{
		Dir: d.path("postgres"), Database: devDatabase, NoInstall: d.NoInstall, Progress: d.say.line,
	}
	server, err := devstack.StartPostgres(ctx, config)
	if err != nil {
		return nil, err
	}
	// After a crash it comes back where everybody looks for it.
	config.Port = server.Port()
	return &database{url: server.URL(devDatabase), config: config, server: server}, nil
}

// keep starts the server again whenever it dies, and returns when that fails or ctx ends.
func (db *database) keep(ctx context.Context, say *progress) error {
	if db == nil || db.server == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return keep(ctx, say, "PostgreSQL", func() <-chan struct{} { return db.server.Done() }, func() error {
		// Gives up the dead server's lock.
		if err := db.server.Stop(ctx); err != nil {
			return err
		}
		server, err := devstack.StartPostgres(ctx, db.config)
		if err == nil {
			db.server = server
		}
		return err
	})
}

func (db *database) stop(ctx context.Context) error {
	if db == nil || db.server == nil {
		return nil
	}
	if err := db.server.Stop(ctx); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	return nil
}

const (
	keepAttempts = 5
	keepPause    = time.Second
)

// keep restarts what has died, with a few attempts at each death.
func keep(ctx context.Context, say *progress, what string, died func() <-chan struct{}, restart func() error) error {
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-died():
		}
		say.line(what + " ended unexpectedly: starting it again")
		for attempt := 1; ; attempt++ {
			err := restart()
			if err == nil {
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if attempt == keepAttempts {
				return fmt.Errorf("%s ended and does not start again: %w", what, err)
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(keepPause):
			}
		}
		say.line(what + " runs again")
	}
}
