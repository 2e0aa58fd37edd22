package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// OutboxDue is what the outbox still has to give.
type OutboxDue struct {
	// Due rows can be dispatched now, Later ones come due by time. Stuck ones are
	// due and need a person; Alert says why the first of them does.
	Due, Later, Stuck int
	Alert             string
	// Newest is the highest id so far: a change says that something was added.
	Newest int64
}

// OutboxDue reads what the outbox still has to give.
func (s *Work) OutboxDue(ctx context.Context) (OutboxDue, error) {
	var due OutboxDue
	err := s.pool.QueryRow(ctx, `
		SELECT count(*) FILTER (WHERE due_at <= now() AND alert IS NULL), count(*) FILTER (WHERE due_at > now()),
			count(*) FILTER (WHERE due_at <= now() AND alert IS NOT NULL), coalesce(min(alert) FILTER (WHERE due_at <= now()), ''),
			(SELECT coalesce(max(id), 0) FROM oncehook.outbox)
		FROM oncehook.outbox WHERE dispatched_at IS NULL`).Scan(&due.Due, &due.Later, &due.Stuck, &due.Alert, &due.Newest)
	if err != nil {
		return OutboxDue{}, fmt.Errorf("read what the outbox has to give: %w", err)
	}
	return due, nil
}

// OpenRun is a run that was dispatched and whose receipt has no end yet.
type OpenRun struct {
	ReceiptID uuid.UUID
	// Key is also the workflow ID.
	Key string
	// NextAttemptAt is the soonest retry that the ledger knows of; zero for none.
	NextAttemptAt time.Time

	changedAt time.Time
}

// OpenRuns returns the open runs that follow after, at most size, the last changed
// first: they are the likeliest to go on. nil is before all.
func (s *Work) OpenRuns(ctx context.Context, after *OpenRun, size int) ([]OpenRun, error) {
	var (
		afterID *uuid.UUID
		afterAt *time.Time
	)
	if after != nil {
		afterID, afterAt = &after.ReceiptID, &after.changedAt
	}
	rows, err := s.pool.Query(ctx, `
		SELECT r.id, r.key, r.changed_at, a.next_attempt_at
		FROM oncehook.receipts r
		LEFT JOIN LATERAL (SELECT min(n.next_attempt_at) AS next_attempt_at FROM oncehook.actions n
			WHERE n.receipt_id = r.id AND n.state = 'running') a ON true
		WHERE r.state IN ('queued', 'processing') AND (@id::uuid IS NULL OR (r.changed_at, r.id) < (@changed_at, @id))
			AND NOT EXISTS (SELECT FROM oncehook.outbox o
				WHERE o.receipt_id = r.id AND o.run_no = r.run_no AND o.kind = 'start' AND o.dispatched_at IS NULL)
		ORDER BY r.changed_at DESC, r.id DESC LIMIT @size`,
		pgx.StrictNamedArgs{"changed_at": afterAt, "id": afterID, "size": size})
	if err != nil {
		return nil, fmt.Errorf("list open runs: %w", err)
	}
	runs, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (OpenRun, error) {
		var (
			run  OpenRun
			next *time.Time
		)
		err := row.Scan(&run.ReceiptID, &run.Key, &run.changedAt, &next)
		if next != nil {
			run.NextAttemptAt = *next
		}
		return run, err
	})
	if err != nil {
		return nil, fmt.Errorf("list open runs: %w", err)
	}
	return runs, nil
}
