package app

import (
	"context"
	"errors"
	"time"

	"github.com/oncehook/oncehook/internal/store"
)

const (
	schemaRetry = 500 * time.Millisecond
	// awayReminder is how often a process that waits says so.
	awayReminder = 30 * time.Second
)

type hasSchema interface {
	Schema(ctx context.Context) error
}

// awaitSchema returns when the schema can be used, or when ctx ends, or with the
// fault that wait says is not waited for. PostgreSQL, migrations and grants may
// come later. waiting is told each reason that is waited for; it may be nil.
func awaitSchema(ctx context.Context, in hasSchema, wait func(store.SchemaFault) bool, waiting func(error)) error {
	for {
		err := in.Schema(ctx)
		if err == nil {
			return nil
		}
		var unusable *store.SchemaError
		if errors.As(err, &unusable) && !wait(unusable.Fault) {
			return unusable
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if waiting != nil {
			waiting(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(schemaRetry):
		}
	}
}

// refuseForeign returns a *store.SchemaError once the database turns out to be
// another installation's: with the wrong identity key this process would give
// events other keys. Whatever else the schema lacks is /readyz's to say.
func (a *App) refuseForeign(ctx context.Context, in hasSchema) error {
	err := awaitSchema(ctx, in, func(fault store.SchemaFault) bool { return fault != store.SchemaForeign }, nil)
	var foreign *store.SchemaError
	if errors.As(err, &foreign) {
		return foreign
	}
	return nil
}
