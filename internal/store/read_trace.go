package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// maxDecisions bounds the decisions of one trace.
const maxDecisions = 1000

// ReceiptView is a receipt with its counts and its latest run.
type ReceiptView struct {
	EventView
	CorrelationID uuid.UUID
	Subject       *string
	OccurredAt    *time.Time
	Sequence      *string
	Workflow      *string
	Cause         string
	Version       int32
	RunNo         int32
	// Deliveries is the accepted one and its duplicates.
	Deliveries int64
	Conflicts  int64
	LastSeen   time.Time
	// RunID is Temporal's id of the latest run, once it is started. It outlives the
	// run's outbox row.
	RunID *string
}

// DecisionView is what was decided about a delivery, or about Count alike.
type DecisionView struct {
	Outcome           oncehook.Decision `db:"outcome"`
	Principal         *string           `db:"principal"`
	CredentialVersion *string           `db:"credential_version"`
	Tenant            *string           `db:"tenant"`
	At                time.Time         `db:"at"`
	TransactionID     string            `db:"transaction_id"`
	Count             int64             `db:"count"`
	Cause             *string           `db:"cause"`
	Peer              *string           `db:"peer"`
	Flags             []string          `db:"flags"`
}

// TransitionView is one row of a receipt's history.
type TransitionView struct {
	From    *string        `db:"from_state"`
	To      oncehook.State `db:"to_state"`
	At      time.Time      `db:"at"`
	Cause   string         `db:"cause"`
	Actor   string         `db:"actor"`
	Version int32          `db:"version"`
	RunNo   int32          `db:"run_no"`
	Detail  *string        `db:"detail"`
}

// OutboxView is one start or signal on its way to Temporal.
type OutboxView struct {
	ID           int64      `db:"id"`
	Kind         string     `db:"kind"`
	RunNo        int32      `db:"run_no"`
	DueAt        time.Time  `db:"due_at"`
	Claims       int32      `db:"claims"`
	LastError    *string    `db:"last_error"`
	Alert        *string    `db:"alert"`
	DispatchedAt *time.Time `db:"dispatched_at"`
	RunID        *string    `db:"run_id"`
	CreatedAt    time.Time  `db:"created_at"`
}

// TraceView is everything that is known of one event, as of one moment.
type TraceView struct {
	Receipt     ReceiptView
	Decisions   []DecisionView
	Transitions []TransitionView
	Actions     []ActionView
	Outbox      []OutboxView
	// Truncated says that there are more than maxDecisions decisions.
	Truncated bool
}

// Receipt reads one receipt, or ErrNotFound.
func (a *Admin) Receipt(ctx context.Context, scope Scope, id uuid.UUID) (ReceiptView, error) {
	if err := a.usable(ctx); err != nil {
		return ReceiptView{}, err
	}
	return readReceipt(ctx, a.pool, scope, id)
}

// Trace reads the whole chain of one event from one snapshot, or ErrNotFound.
func (a *Admin) Trace(ctx context.Context, scope Scope, id uuid.UUID) (TraceView, error) {
	if err := a.usable(ctx); err != nil {
		return TraceView{}, err
	}
	var t TraceView
	err := pgx.BeginTxFunc(ctx, a.pool, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		var err error
		if t.Receipt, err = readReceipt(ctx, tx, scope, id); err != nil {
			return err
		}
		if t.Decisions, err = readDecisions(ctx, tx, t.Receipt); err != nil {
			return reading("read decisions", err)
		}
		if t.Transitions, err = collect[TransitionView](ctx, tx, `
			SELECT from_state, to_state, at, cause, actor, version, run_no, detail
			FROM receipt_history WHERE receipt_id = $1 ORDER BY version`, id); err != nil {
			return reading("read transitions", err)
		}
		if t.Outbox, err = collect[OutboxView](ctx, tx, `
			SELECT id, kind, run_no, due_at, claims, last_error, alert, dispatched_at, run_id, created_at
			FROM outbox WHERE receipt_id = $1 ORDER BY id`, id); err != nil {
			return reading("read outbox", err)
		}
		if t.Actions, err = readActions(ctx, tx, id); err != nil {
			return reading("read actions", err)
		}
		return nil
	})
	switch {
	case errors.Is(err, ErrNotFound), errors.Is(err, ErrAway):
		return TraceView{}, err
	case err != nil:
		return TraceView{}, reading("read the trace", err)
	}
	// Outside the transaction: a key may need a connection of its own.
	if err := a.openResults(ctx, t.Receipt, t.Actions); err != nil {
		return TraceView{}, reading("open results", err)
	}
	if len(t.Decisions) > maxDecisions {
		t.Decisions, t.Truncated = t.Decisions[:maxDecisions], true
	}
	return t, nil
}

// querier is a pool or a transaction.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func collect[T any](ctx context.Context, q querier, sql string, args ...any) ([]T, error) {
	rows, err := q.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByName[T])
}

func readReceipt(ctx context.Context, q querier, scope Scope, id uuid.UUID) (ReceiptView, error) {
	where := &conditions{args: pgx.StrictNamedArgs{}}
	where.add("r.id = @id", "id", id)
	where.scope(scope)
	rows, err := q.Query(ctx, `SELECT `+eventColumns+`,
			r.correlation_id, r.subject, r.occurred_at, r.sequence, r.workflow, r.cause, r.version, r.run_no,
			1 + coalesce(d.duplicates, 0) AS deliveries, coalesce(d.conflicts, 0) AS conflicts,
			greatest(r.received_at, d.last_at) AS last_seen,
			CASE WHEN o.id IS NULL THEN r.run_id ELSE o.run_id END AS run_id
		FROM receipts r LEFT JOIN delivery_counts d ON d.receipt_id = r.id
		LEFT JOIN LATERAL (SELECT x.id, x.run_id FROM outbox x WHERE x.receipt_id = r.id AND x.kind = 'start' AND x.run_no = r.run_no
			ORDER BY x.id DESC LIMIT 1) o ON true`+where.clause(), where.args)
	if err != nil {
		return ReceiptView{}, reading("read the receipt", err)
	}
	receipt, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[ReceiptView])
	if errors.Is(err, pgx.ErrNoRows) {
		return ReceiptView{}, ErrNotFound
	}
	if err != nil {
		return ReceiptView{}, reading("read the receipt", err)
	}
	return receipt, nil
}

// readDecisions reads one more than maxDecisions, to tell whether there are more.
func readDecisions(ctx context.Context, q querier, r ReceiptView) ([]DecisionView, error) {
	// No decision about a receipt is older than it, beyond a clock's error: that
	// spares the older partitions.
	return collect[DecisionView](ctx, q, `
		SELECT outcome, principal, credential_version, tenant, at, transaction_id::text AS transaction_id, count, cause, peer,
			coalesce(flags, '{}') AS flags
		FROM audit WHERE receipt_id = $1 AND kind = 'delivery' AND at >= $2
		ORDER BY at, outcome LIMIT $3`, r.ReceiptID, r.FirstSeen.Add(-time.Hour), maxDecisions+1)
}
