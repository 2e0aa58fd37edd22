package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// Start is a claimed outbox row: one workflow run to start.
type Start struct {
	OutboxID int64
	// Ref is the workflow's whole input.
	Ref      oncehook.Ref
	Workflow string
	// Claims counts the claims of this row, this one included.
	Claims      int
	Traceparent string
	// Begun says that the run was started before: its receipt is already past
	// queued. Temporal may have forgotten it, so it must not be started again,
	// unless the reconciler found it lost and opened the row for that.
	Begun bool
}

// ClaimLimits bounds one ClaimStarts.
type ClaimLimits struct {
	// Batch is how many rows to claim at most, PerSource how many of one source.
	Batch, PerSource int
	// InFlight bounds, per source, the runs whose first action is not yet
	// claimed. Rows claimed before and replays are outside it: their receipts
	// are counted already.
	InFlight int
	// Patience is how long a run counts there. One that has not begun by then, as
	// when it was terminated, must not hold up its source for ever. Zero is for ever.
	Patience time.Duration
	// Lease is how long the rows stay invisible to other claims.
	Lease time.Duration
	// Local is whether Local effects run as local activities, for rows whose
	// first claim this is.
	Local bool
}

// claimStarts finds the sources with a loose index scan, takes from each only
// what may run, in the order they came due, and gives every source its turn.
// The window keeps a claim cheap beside a long backlog: rows claimed before are
// the oldest, hence at its front.
const claimStarts = `
WITH RECURSIVE sources AS (
	(SELECT o.source FROM oncehook.outbox o WHERE o.dispatched_at IS NULL ORDER BY o.source LIMIT 1)
	UNION ALL
	SELECT (SELECT o.source FROM oncehook.outbox o WHERE o.dispatched_at IS NULL AND o.source > s.source ORDER BY o.source LIMIT 1)
	FROM sources s WHERE s.source IS NOT NULL
), room AS MATERIALIZED (
	SELECT s.source, @in_flight::bigint - (SELECT count(*) FROM (
		SELECT FROM oncehook.receipts r
		WHERE r.source = s.source AND r.state = 'queued' AND r.changed_at > @counted_since LIMIT @in_flight) q) AS free
	FROM sources s WHERE s.source IS NOT NULL
), due AS (
	SELECT c.id, c.turn FROM room, LATERAL (
		SELECT n.id, row_number() OVER (ORDER BY n.due_at, n.id) AS turn FROM (
			SELECT w.id, w.due_at, w.fresh, row_number() OVER (PARTITION BY w.fresh ORDER BY w.due_at, w.id) AS nth FROM (
				SELECT o.id, o.due_at, o.lease_until, o.claims = 0 AND o.run_no = 1 AS fresh
				FROM oncehook.outbox o
				WHERE o.source = room.source AND o.dispatched_at IS NULL AND o.due_at <= now() AND o.kind = 'start'
				ORDER BY o.due_at, o.id LIMIT @window) w
			WHERE w.lease_until IS NULL OR w.lease_until <= now()) n
		WHERE NOT n.fresh OR n.nth <= room.free
		ORDER BY n.due_at, n.id LIMIT @per_source) c
), picked AS (
	SELECT o.id FROM oncehook.outbox o
	WHERE o.id = ANY (ARRAY(SELECT d.id FROM due d ORDER BY d.turn, d.id LIMIT @batch))
		AND o.dispatched_at IS NULL AND (o.lease_until IS NULL OR o.lease_until <= now())
	FOR UPDATE SKIP LOCKED
), claimed AS (
	UPDATE oncehook.outbox o
	SET claims = o.claims + 1, lease_until = now() + @lease::interval, local = coalesce(o.local, @local)
	FROM picked p WHERE o.id = p.id
	RETURNING o.id, o.receipt_id, o.run_no, o.workflow, o.claims, o.local, o.traceparent, o.due_at, o.reopened
), moved AS (
	UPDATE oncehook.receipts r
	SET state = 'queued', cause = @cause, version = r.version + 1, changed_at = @now
	FROM claimed c WHERE r.id = c.receipt_id AND r.run_no = c.run_no AND r.state = 'received'
	RETURNING r.id, r.version, r.run_no
), noted AS (
	INSERT INTO oncehook.receipt_history (receipt_id, version, from_state, to_state, run_no, cause, actor, at)
	SELECT m.id, m.version, 'received', 'queued', m.run_no, @cause, @actor, @now FROM moved m
)
SELECT c.id, c.receipt_id, c.run_no, coalesce(c.workflow, ''), c.claims, c.local, coalesce(c.traceparent, ''),
	r.key, r.correlation_id, r.source, r.tenant, r.event_type,
	r.run_no <> c.run_no OR r.state NOT IN ('received', 'queued', 'processing') OR r.state = 'processing' AND c.reopened = 0
FROM claimed c JOIN oncehook.receipts r ON r.id = c.receipt_id
ORDER BY c.due_at, c.id`

// ClaimStarts leases due starts and, in the same transaction, moves the
// receipts of first runs from received to queued. A row comes back after its
// lease until MarkStarted or RefuseStart closes it.
func (s *Work) ClaimStarts(ctx context.Context, l ClaimLimits) ([]Start, error) {
	var countedSince time.Time
	if l.Patience > 0 {
		countedSince = s.now().Add(-l.Patience)
	}
	rows, err := s.pool.Query(ctx, claimStarts, pgx.StrictNamedArgs{
		"counted_since": countedSince,
		"in_flight":     l.InFlight, "window": 2*l.InFlight + l.PerSource, "per_source": l.PerSource, "batch": l.Batch,
		"lease": l.Lease, "local": l.Local, "cause": oncehook.CauseDispatch, "actor": s.actor(), "now": s.now(),
	})
	if err != nil {
		return nil, fmt.Errorf("claim starts: %w", err)
	}
	starts, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Start, error) {
		var (
			start                    Start
			receiptID, correlationID uuid.UUID
		)
		err := row.Scan(&start.OutboxID, &receiptID, &start.Ref.RunNo, &start.Workflow, &start.Claims, &start.Ref.Local,
			&start.Traceparent, &start.Ref.EventKey, &correlationID, &start.Ref.Source, &start.Ref.Tenant, &start.Ref.Type, &start.Begun)
		start.Ref.ReceiptID, start.Ref.CorrelationID = receiptID.String(), correlationID.String()
		return start, err
	})
	if err != nil {
		return nil, fmt.Errorf("claim starts: %w", err)
	}
	return starts, nil
}

// MarkStarted closes a row whose run exists. It touches nothing but the row. A
// row that is closed already is success. Losing the mark in a crash of the
// database is harmless, hence no wait for the disk: the row is claimed again
// and Temporal recognizes the request.
func (s *Work) MarkStarted(ctx context.Context, outboxID int64, runID string) error {
	_, err := s.pool.Exec(ctx, `
		WITH relaxed AS (SELECT set_config('synchronous_commit', 'off', true))
		UPDATE oncehook.outbox SET dispatched_at = $2, run_id = NULLIF($3, ''), lease_until = NULL, alert = NULL
		FROM relaxed WHERE id = $1 AND dispatched_at IS NULL`, outboxID, s.now(), runID)
	if err != nil {
		return fmt.Errorf("mark start %d: %w", outboxID, err)
	}
	return nil
}

// RetryStart gives a claimed row back, not to be claimed before delay has
// passed. alert is set when the row needs a person, and cleared by "".
func (s *Work) RetryStart(ctx context.Context, outboxID int64, delay time.Duration, lastError, alert string) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE oncehook.outbox SET lease_until = now() + $2::interval, last_error = coalesce(NULLIF($3, ''), last_error), alert = NULLIF($4, '')
		WHERE id = $1 AND dispatched_at IS NULL`, outboxID, delay, cleanText(lastError), cleanText(alert))
	if err != nil {
		return fmt.Errorf("retry start %d: %w", outboxID, err)
	}
	return nil
}

// RefuseStart closes a row that Temporal will never take and dead-letters its
// receipt. A receipt that is already further on stays as it is.
func (s *Work) RefuseStart(ctx context.Context, outboxID int64, cause, detail string) error {
	err := pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		var (
			receiptID uuid.UUID
			runNo     int
		)
		err := tx.QueryRow(ctx, `
			UPDATE oncehook.outbox SET dispatched_at = $2, last_error = $3, lease_until = NULL
			WHERE id = $1 AND dispatched_at IS NULL RETURNING receipt_id, run_no`, outboxID, s.now(), cleanText(detail)).Scan(&receiptID, &runNo)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		if err != nil {
			return err
		}
		receipt, err := lockReceipt(ctx, tx, receiptID)
		if err != nil {
			return err
		}
		if receipt.runNo != runNo || receipt.state != oncehook.StateQueued {
			return nil
		}
		return s.move(ctx, tx, receipt, oncehook.StateDeadLettered, cause, detail)
	})
	if err != nil {
		return fmt.Errorf("refuse start %d: %w", outboxID, err)
	}
	return nil
}

// OutboxStats is what the outbox looks like at one moment.
type OutboxStats struct {
	// Oldest is the age of the oldest row that is not dispatched.
	Oldest  time.Duration
	Pending int64
	// Alerts counts the pending rows that need a person.
	Alerts int64
}

// OutboxStats reads the outbox's age and size.
func (r *role) OutboxStats(ctx context.Context) (OutboxStats, error) {
	var (
		stats  OutboxStats
		oldest float64
	)
	err := r.pool.QueryRow(ctx, `
		SELECT coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8, count(*), count(*) FILTER (WHERE alert IS NOT NULL)
		FROM oncehook.outbox WHERE dispatched_at IS NULL`).Scan(&oldest, &stats.Pending, &stats.Alerts)
	if err != nil {
		return OutboxStats{}, fmt.Errorf("read the outbox's age: %w", err)
	}
	stats.Oldest = max(0, time.Duration(oldest*float64(time.Second)))
	return stats, nil
}
