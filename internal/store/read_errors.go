package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"
)

// ErrAway says that PostgreSQL does not answer, or that its schema is not usable yet.
var ErrAway = errors.New("the database does not answer")

// usable returns an error that wraps ErrAway while the schema is not known to be usable.
func (a *Admin) usable(ctx context.Context) error {
	if err := a.Schema(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrAway, err)
	}
	return nil
}

// reading says what failed, and adds ErrAway unless PostgreSQL itself refused the
// statement for a reason that will not pass.
func reading(what string, err error) error {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && len(refused.Code) == 5 {
		switch refused.Code[:2] {
		case "08", "53", "55", "57", "58", "40": // connection, resources, not ready, shutdown or timeout, system, rollback
		default:
			return fmt.Errorf("%s: %w", what, err)
		}
	}
	return fmt.Errorf("%s: %w: %w", what, ErrAway, err)
}
