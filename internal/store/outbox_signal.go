package store

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Signal is a claimed outbox row: one wake-up of an open run.
type Signal struct {
	OutboxID int64
	// EventKey is the workflow's ID.
	EventKey  string
	ReceiptID string
	// CorrelationID ties the log lines of an event together.
	CorrelationID string
	RunNo         int
	// Argument is the signal's argument, JSON.
	Argument json.RawMessage
	// Claims counts the claims of this row, this one included.
	Claims int
}

// claimSignals gives every source its turn, as claimStarts does. Signals have an
// index of their own, so no backlog of starts is in their way.
const claimSignals = `
WITH RECURSIVE sources AS (
	(SELECT o.source FROM oncehook.outbox o WHERE o.dispatched_at IS NULL AND o.kind = 'signal' ORDER BY o.source LIMIT 1)
	UNION ALL
	SELECT (SELECT o.source FROM oncehook.outbox o
		WHERE o.dispatched_at IS NULL AND o.kind = 'signal' AND o.source > s.source ORDER BY o.source LIMIT 1)
	FROM sources s WHERE s.source IS NOT NULL
), due AS (
	SELECT c.id, c.turn FROM sources s, LATERAL (
		SELECT o.id, row_number() OVER (ORDER BY o.due_at, o.id) AS turn FROM oncehook.outbox o
		WHERE o.source = s.source AND o.dispatched_at IS NULL AND o.kind = 'signal' AND o.due_at <= now()
			AND (o.lease_until IS NULL OR o.lease_until <= now())
		ORDER BY o.due_at, o.id LIMIT @batch) c
	WHERE s.source IS NOT NULL
), picked AS (
	SELECT o.id FROM oncehook.outbox o
	WHERE o.id = ANY (ARRAY(SELECT d.id FROM due d ORDER BY d.turn, d.id LIMIT @batch))
		AND o.dispatched_at IS NULL AND (o.lease_until IS NULL OR o.lease_until <= now())
	FOR UPDATE SKIP LOCKED
), claimed AS (
	UPDATE oncehook.outbox o SET claims = o.claims + 1, lease_until = now() + @lease::interval
	FROM picked p WHERE o.id = p.id
	RETURNING o.id, o.receipt_id, o.run_no, o.signal, o.claims
)
SELECT c.id, r.key, c.receipt_id::text, r.correlation_id::text, c.run_no, coalesce(c.signal, 'null'), c.claims
FROM claimed c JOIN oncehook.receipts r ON r.id = c.receipt_id
ORDER BY c.id`

// ClaimSignals leases due signals. A row comes back after its lease until
// MarkSignalled closes it; RetryStart gives it back earlier.
func (s *Work) ClaimSignals(ctx context.Context, batch int, lease time.Duration) ([]Signal, error) {
	rows, err := s.pool.Query(ctx, claimSignals, pgx.StrictNamedArgs{"batch": batch, "lease": lease})
	if err != nil {
		return nil, fmt.Errorf("claim signals: %w", err)
	}
	signals, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (Signal, error) {
		var (
			signal   Signal
			argument string
		)
		err := row.Scan(&signal.OutboxID, &signal.EventKey, &signal.ReceiptID, &signal.CorrelationID, &signal.RunNo, &argument, &signal.Claims)
		signal.Argument = json.RawMessage(argument)
		return signal, err
	})
	if err != nil {
		return nil, fmt.Errorf("claim signals: %w", err)
	}
	return signals, nil
}

// MarkSignalled closes a row whose signal was sent, or that no run can take any
// more: then note says why. A row that is closed already is success.
func (s *Work) MarkSignalled(ctx context.Context, outboxID int64, note string) error {
	_, err := s.pool.Exec(ctx, `
		UPDATE oncehook.outbox SET dispatched_at = $2, last_error = NULLIF($3, ''), lease_until = NULL, alert = NULL
		WHERE id = $1 AND dispatched_at IS NULL`, outboxID, s.now(), cleanText(note))
	if err != nil {
		return fmt.Errorf("mark signal %d: %w", outboxID, err)
	}
	return nil
}
