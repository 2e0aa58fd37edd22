package effect

import (
	"context"
	"errors"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Querier is the transaction of a Local effect, without its begin and end.
type Querier interface {
	Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error)
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// ErrNoTx says that there is no transaction: the code is not in a Local effect,
// or its attempt is over.
var ErrNoTx = errors.New("no transaction: not in a local effect, or its attempt is over")

type txKey struct{}

// Tx returns the transaction of the Local effect that ctx belongs to. What is
// written through it commits together with the action or not at all. It dies
// with its attempt: afterwards, and outside of a Local effect, every call
// returns ErrNoTx.
func Tx(ctx context.Context) Querier {
	if tx, ok := ctx.Value(txKey{}).(*attemptTx); ok {
		return tx
	}
	return &attemptTx{}
}

// attemptTx is a transaction that can be taken away.
type attemptTx struct {
	mu sync.Mutex
	tx pgx.Tx // nil once the attempt is over
}

// end waits for a call in flight and refuses later ones.
func (t *attemptTx) end() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.tx = nil
}

func (t *attemptTx) Exec(ctx context.Context, sql string, args ...any) (pgconn.CommandTag, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tx == nil {
		return pgconn.CommandTag{}, ErrNoTx
	}
	return t.tx.Exec(ctx, sql, args...)
}

func (t *attemptTx) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tx == nil {
		return nil, ErrNoTx
	}
	return t.tx.Query(ctx, sql, args...) //nolint:sqlclosecheck // the effect's to close
}

func (t *attemptTx) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.tx == nil {
		return noRow{}
	}
	return t.tx.QueryRow(ctx, sql, args...)
}

type noRow struct{}

func (noRow) Scan(...any) error { return ErrNoTx }
