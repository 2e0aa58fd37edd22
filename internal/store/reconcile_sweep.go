package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// Sweep is the right to reconcile, which one process at a time holds, and where
// the sweep before stopped.
type Sweep struct {
	Undispatched, Running SweepCursor
}

// SweepCursor is a place among the receipts, the longest unchanged first. The
// zero value is their beginning.
type SweepCursor struct {
	At time.Time
	ID uuid.UUID
}

// BeginSweep takes the right to reconcile for the lease, or extends it. It
// returns false while another process has it; a dead one loses it by itself.
func (s *Work) BeginSweep(ctx context.Context, lease time.Duration) (Sweep, bool, error) {
	if err := s.gate.check(ctx); err != nil {
		return Sweep{}, false, err
	}
	var w Sweep
	err := s.pool.QueryRow(ctx, `
		UPDATE oncehook.reconciler SET holder = $1, lease_until = now() + $2::interval
		WHERE holder = $1 OR lease_until IS NULL OR lease_until <= now()
		RETURNING greatest(undispatched_at, '0001-01-01'), undispatched_id, greatest(running_at, '0001-01-01'), running_id`, s.process, lease).
		Scan(&w.Undispatched.At, &w.Undispatched.ID, &w.Running.At, &w.Running.ID)
	if errors.Is(err, pgx.ErrNoRows) {
		return Sweep{}, false, nil
	}
	if err != nil {
		return Sweep{}, false, fmt.Errorf("begin a sweep: %w", err)
	}
	return w, true, nil
}

// EndSweep gives the right back and remembers where to go on. A sweep that was
// whole counts for LastSweep.
func (s *Work) EndSweep(ctx context.Context, w Sweep, whole bool) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE oncehook.reconciler SET lease_until = NULL, swept_at = CASE WHEN $6 THEN now() ELSE swept_at END,
			undispatched_at = $2, undispatched_id = $3, running_at = $4, running_id = $5
		WHERE holder = $1`,
		s.process, w.Undispatched.At, w.Undispatched.ID, w.Running.At, w.Running.ID, whole)
	if err != nil {
		return fmt.Errorf("end a sweep: %w", err)
	}
	return nil
}

// LastSweep returns how long ago the last whole sweep of any process ended, and
// false when there was none yet.
func (r *role) LastSweep(ctx context.Context) (time.Duration, bool, error) {
	var age *float64
	err := r.pool.QueryRow(ctx, `SELECT extract(epoch FROM now() - swept_at)::float8 FROM oncehook.reconciler`).Scan(&age)
	if err != nil {
		return 0, false, fmt.Errorf("read the last sweep: %w", err)
	}
	if age == nil {
		return 0, false, nil
	}
	return max(0, time.Duration(*age*float64(time.Second))), true, nil
}

// OpenReceipt is a receipt that is not at its end, and its run's outbox row.
type OpenReceipt struct {
	ID     uuid.UUID
	Key    string
	RunNo  int
	Cursor SweepCursor
	// CorrelationID ties the log lines of an event together.
	CorrelationID string
	// Row says that the run has an outbox row, and Pending that it is not dispatched.
	Row, Pending bool
	// Stuck says that the row is leased for longer than any lease lasts.
	Stuck bool
	// DispatchedAt and RunID are of a row that is dispatched.
	DispatchedAt time.Time
	RunID        string
	// Reopened counts how often the run was lost before.
	Reopened int
}

// stuckLease is longer than any lease of the outbox: one that ends later was
// taken before the database's clock went back.
const stuckLease = "10 minutes"

const openColumns = `
SELECT r.id, r.key, r.run_no, r.changed_at, r.correlation_id::text, o.id IS NOT NULL, o.id IS NOT NULL AND o.dispatched_at IS NULL,
	coalesce(o.dispatched_at IS NULL AND o.lease_until > now() + interval '` + stuckLease + `', false),
	coalesce(o.dispatched_at, '0001-01-01'), coalesce(o.run_id, ''), coalesce(o.reopened, 0)`

// startRow joins the outbox row of each receipt's current run.
const startRow = `
LEFT JOIN LATERAL (
	SELECT x.id, x.dispatched_at, x.lease_until, x.run_id, x.reopened FROM oncehook.outbox x
	WHERE x.receipt_id = r.id AND x.run_no = r.run_no AND x.kind = 'start'
	ORDER BY x.dispatched_at IS NULL DESC, x.id DESC LIMIT 1) o ON true`

const openReceipts = openColumns + `
FROM (
	SELECT id, key, run_no, changed_at, correlation_id FROM oncehook.receipts
	WHERE state IN (%s) AND changed_at < @before AND (changed_at, id) > (@at, @id)
	ORDER BY changed_at, id LIMIT @size) r` + startRow + `
ORDER BY r.changed_at, r.id`

// UndispatchedReceipts returns a page of the receipts that have been received
// since before that time, after the cursor.
func (s *Work) UndispatchedReceipts(ctx context.Context, before time.Time, after SweepCursor, size int) ([]OpenReceipt, error) {
	return s.openReceipts(ctx, `'received'`, before, after, size)
}

// RunningReceipts returns a page of the receipts that have been queued or
// processing, unchanged since before that time, after the cursor.
func (s *Work) RunningReceipts(ctx context.Context, before time.Time, after SweepCursor, size int) ([]OpenReceipt, error) {
	return s.openReceipts(ctx, `'queued', 'processing'`, before, after, size)
}

func (s *Work) openReceipts(ctx context.Context, states string, before time.Time, after SweepCursor, size int) ([]OpenReceipt, error) {
	rows, err := s.pool.Query(ctx, fmt.Sprintf(openReceipts, states),
		pgx.StrictNamedArgs{"before": before, "at": after.At, "id": after.ID, "size": size})
	if err != nil {
		return nil, fmt.Errorf("read open receipts: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanOpenReceipt)
	if err != nil {
		return nil, fmt.Errorf("read open receipts: %w", err)
	}
	return list, nil
}

func scanOpenReceipt(row pgx.CollectableRow) (OpenReceipt, error) {
	var r OpenReceipt
	err := row.Scan(&r.ID, &r.Key, &r.RunNo, &r.Cursor.At, &r.CorrelationID, &r.Row, &r.Pending, &r.Stuck, &r.DispatchedAt, &r.RunID, &r.Reopened)
	r.Cursor.ID = r.ID
	return r, err
}

// ReceiptRun names one run of one receipt.
type ReceiptRun struct {
	ReceiptID uuid.UUID
	RunNo     int
}

// StillRunning returns those of the runs whose receipts say that they go on.
func (s *Work) StillRunning(ctx context.Context, runs []ReceiptRun) ([]OpenReceipt, error) {
	ids, numbers := make([]uuid.UUID, len(runs)), make([]int32, len(runs))
	for n, r := range runs {
		ids[n], numbers[n] = r.ReceiptID, int32(r.RunNo) //nolint:gosec // a run number is small
	}
	rows, err := s.pool.Query(ctx, openColumns+`
		FROM unnest($1::uuid[], $2::integer[]) AS c (id, run_no)
		JOIN oncehook.receipts r ON r.id = c.id AND r.run_no = c.run_no AND r.state IN ('queued', 'processing')`+startRow, ids, numbers)
	if err != nil {
		return nil, fmt.Errorf("read receipts of closed runs: %w", err)
	}
	list, err := pgx.CollectRows(rows, scanOpenReceipt)
	if err != nil {
		return nil, fmt.Errorf("read receipts of closed runs: %w", err)
	}
	return list, nil
}
