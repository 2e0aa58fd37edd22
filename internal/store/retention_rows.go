package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
)

// retentionBatch bounds a transaction: an ON CONFLICT of accept waits for it.
const retentionBatch = 500

// span reads the count, bytes, oldest and newest of what goes into a line.
func (r *retention) span(ctx context.Context, line *RetentionLine, query string, args ...any) error {
	var oldest, newest *time.Time
	if err := r.pool.QueryRow(ctx, query, args...).Scan(&line.Rows, &line.Bytes, &oldest, &newest); err != nil {
		return fmt.Errorf("count %s: %w", line.What, err)
	}
	if oldest != nil && newest != nil {
		line.Oldest, line.Newest = oldest.UTC().Truncate(24*time.Hour), newest.UTC().Truncate(24*time.Hour)
	}
	return nil
}

// batches repeats a deletion, whose last parameter is the batch's size, until it
// finds nothing more.
func (r *retention) batches(ctx context.Context, what, query string, args ...any) error {
	for r.apply {
		tag, err := r.pool.Exec(ctx, query, append(slices.Clone(args), retentionBatch)...)
		if err != nil {
			return fmt.Errorf("delete %s: %w", what, err)
		}
		if tag.RowsAffected() < retentionBatch {
			break
		}
	}
	return nil
}

// pinned deletes bodies that were unresolved when their day went, and are not
// any more.
func (r *retention) pinned(ctx context.Context) error {
	line := RetentionLine{What: "payloads pinned"}
	stay := `EXISTS (SELECT` + fmt.Sprintf(unresolvedBodies, "(SELECT q.delivery_id)") + `)`
	// In a day that stays, the body is as old as its clock allows.
	days := []any{
		r.beforeDay(r.clocks.Payloads["short"]), r.beforeDay(r.clocks.Payloads["standard"]), r.beforeDay(r.clocks.Payloads["long"]),
	}
	goes := `q.day < (ARRAY[$1::date, $2::date, $3::date])[q.retention_class] AND NOT ` + stay
	err := r.span(ctx, &line, `
		SELECT count(*), coalesce(sum(length(q.body)), 0), min(q.day)::timestamptz, max(q.day)::timestamptz
		FROM oncehook.payloads_pinned q WHERE `+goes, days...)
	if err != nil {
		return err
	}
	if err := r.pool.QueryRow(ctx, `SELECT count(*) FROM oncehook.payloads_pinned q WHERE `+stay).Scan(&line.Kept); err != nil {
		return fmt.Errorf("count %s: %w", line.What, err)
	}
	r.lines = append(r.lines, line)
	return r.batches(ctx, line.What, `
		DELETE FROM oncehook.payloads_pinned WHERE delivery_id IN (
			SELECT q.delivery_id FROM oncehook.payloads_pinned q WHERE `+goes+` LIMIT $4)`, days...)
}

// rejected deletes rejected deliveries whose own time is over.
func (r *retention) rejected(ctx context.Context) error {
	line := RetentionLine{What: "rejected deliveries"}
	err := r.span(ctx, &line, `
		SELECT count(*), coalesce(sum(length(body) + length(headers)), 0), min(at), max(at)
		FROM oncehook.rejected_deliveries WHERE expires_at < $1`, r.now)
	if err != nil {
		return err
	}
	r.lines = append(r.lines, line)
	return r.batches(ctx, line.What, `
		DELETE FROM oncehook.rejected_deliveries WHERE id IN (
			SELECT id FROM oncehook.rejected_deliveries WHERE expires_at < $1 ORDER BY expires_at LIMIT $2)`, r.now)
}

// keyGoes is the condition that the key of receipt r, whose copies d counts, is
// past its clock: nothing has happened to it for that long.
const keyGoes = `r.received_at < $1 AND r.changed_at < $1 AND coalesce(d.last_at < $1, true)`

// forgetKeys deletes receipts with their keys and all that only they explain. The
// evidence and the ledger have clocks of their own.
const forgetKeys = `
WITH gone AS (
	SELECT r.id, r.key FROM oncehook.receipts r LEFT JOIN oncehook.delivery_counts d ON d.receipt_id = r.id
	WHERE r.id = ANY ($2) AND ` + keyGoes + ` AND NOT ` + isUnresolved + `
	ORDER BY r.key FOR UPDATE OF r
), keys AS (
	DELETE FROM oncehook.event_keys k USING gone g WHERE k.key = g.key AND k.receipt_id = g.id
), resolutions AS (
	DELETE FROM oncehook.conflict_resolutions x USING oncehook.conflicts c, gone g
	WHERE x.delivery_id = c.delivery_id AND c.receipt_id = g.id
), conflicts AS (
	DELETE FROM oncehook.conflicts x USING gone g WHERE x.receipt_id = g.id
), counts AS (
	DELETE FROM oncehook.delivery_counts x USING gone g WHERE x.receipt_id = g.id
), starts AS (
	DELETE FROM oncehook.outbox x USING gone g WHERE x.receipt_id = g.id
), history AS (
	DELETE FROM oncehook.receipt_history x USING gone g WHERE x.receipt_id = g.id
)
DELETE FROM oncehook.receipts x USING gone g WHERE x.id = g.id`

// keys forgets events.
func (r *retention) keys(ctx context.Context) error {
	line := RetentionLine{What: "keys and receipts", Keep: r.clocks.Keys}
	before := r.before(line.Keep)
	from := ` FROM oncehook.receipts r LEFT JOIN oncehook.delivery_counts d ON d.receipt_id = r.id WHERE ` + keyGoes
	err := r.span(ctx, &line, `SELECT count(*), 0, min(r.received_at), max(r.received_at)`+from+` AND NOT `+isUnresolved, before)
	if err != nil {
		return err
	}
	if err := r.pool.QueryRow(ctx, `SELECT count(*)`+from+` AND `+isUnresolved, before).Scan(&line.Kept); err != nil {
		return fmt.Errorf("count %s: %w", line.What, err)
	}
	r.lines = append(r.lines, line)
	at, last := time.Time{}, uuid.Nil
	for r.apply {
		rows, err := r.pool.Query(ctx, `
			SELECT id, received_at FROM oncehook.receipts WHERE received_at < $1 AND (received_at, id) > ($2, $3)
			ORDER BY received_at, id LIMIT $4`, before, at, last, retentionBatch)
		if err != nil {
			return fmt.Errorf("list old receipts: %w", err)
		}
		var page []uuid.UUID
		if _, err := pgx.ForEachRow(rows, []any{&last, &at}, func() error { page = append(page, last); return nil }); err != nil {
			return fmt.Errorf("list old receipts: %w", err)
		}
		if len(page) == 0 {
			break
		}
		if _, err := r.pool.Exec(ctx, forgetKeys, before, page); err != nil {
			return fmt.Errorf("delete %s: %w", line.What, err)
		}
	}
	return nil
}

// actions deletes the ledger of events that are forgotten.
func (r *retention) actions(ctx context.Context) error {
	line := RetentionLine{What: "actions", Keep: r.clocks.Actions}
	before := r.before(line.Keep)
	const goes = `a.changed_at < $1 AND NOT EXISTS (SELECT FROM oncehook.receipts r WHERE r.id = a.receipt_id)`
	err := r.span(ctx, &line, `SELECT count(*), coalesce(sum(length(a.result)), 0), min(a.changed_at), max(a.changed_at)
		FROM oncehook.actions a WHERE `+goes, before)
	if err != nil {
		return err
	}
	err = r.pool.QueryRow(ctx, `SELECT count(*) FROM oncehook.actions a WHERE a.changed_at < $1 AND NOT (`+goes+`)`, before).Scan(&line.Kept)
	if err != nil {
		return fmt.Errorf("count %s: %w", line.What, err)
	}
	r.lines = append(r.lines, line)
	return r.batches(ctx, line.What, `
		DELETE FROM oncehook.actions WHERE (receipt_id, name, epoch) IN (
			SELECT a.receipt_id, a.name, a.epoch FROM oncehook.actions a WHERE `+goes+` LIMIT $2)`, before)
}

// outbox deletes what the reconciler would: here too, since the owner of the
// tables may come before it.
func (r *retention) outbox(ctx context.Context) error {
	line := RetentionLine{What: "outbox", Keep: r.clocks.Outbox}
	before := r.before(line.Keep)
	err := r.span(ctx, &line, `
		SELECT count(*), 0, min(o.dispatched_at), max(o.dispatched_at)
		FROM oncehook.outbox o JOIN oncehook.receipts r ON r.id = o.receipt_id
		WHERE o.dispatched_at < $1 AND r.state IN `+endedStates+` AND r.changed_at < $1`, before)
	if err != nil {
		return err
	}
	r.lines = append(r.lines, line)
	for r.apply {
		tag, err := r.pool.Exec(ctx, tidyOutbox, pgx.StrictNamedArgs{"before": before, "size": retentionBatch})
		if err != nil {
			return fmt.Errorf("delete %s: %w", line.What, err)
		}
		if tag.RowsAffected() < retentionBatch {
			break
		}
	}
	return nil
}
