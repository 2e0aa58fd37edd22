package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// dayPartition is a table of one day.
type dayPartition struct {
	Name   string
	Parent string
	Day    time.Time
	// Attached says that the parent still has it, Pending that a detachment was
	// broken off: the parent's statements see it no more.
	Attached, Pending bool
	Bytes             int64
}

func (p dayPartition) table() string  { return pgx.Identifier{ownSchema, p.Name}.Sanitize() }
func (p dayPartition) parent() string { return pgx.Identifier{ownSchema, p.Parent}.Sanitize() }

// oldPartitions lists the day tables of a parent before a day, the oldest first,
// with those that an earlier run has detached and not dropped.
func (r *retention) oldPartitions(ctx context.Context, parent string, before time.Time) ([]dayPartition, error) {
	rows, err := r.pool.Query(ctx, `
		SELECT t.relname::text, $1::text, to_date(right(t.relname, 8), 'YYYYMMDD')::timestamp AT TIME ZONE 'UTC',
			i.inhrelid IS NOT NULL, coalesce(i.inhdetachpending, false), pg_total_relation_size(t.oid)
		FROM pg_class t LEFT JOIN pg_inherits i ON i.inhrelid = t.oid
		WHERE t.relnamespace = 'oncehook'::regnamespace AND t.relkind = 'r' AND t.relname ~ ('^' || $1::text || '_[0-9]{8}$')
			AND right(t.relname, 8) < to_char($2::date, 'YYYYMMDD')
		ORDER BY t.relname`, parent, before)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[dayPartition])
}

// unresolvedBodies selects those rows p of a payload table that stay: the body of
// an unresolved receipt, and that of an undecided conflict.
const unresolvedBodies = `
	FROM %s p LEFT JOIN oncehook.conflicts x ON x.delivery_id = p.delivery_id
	JOIN oncehook.receipts r ON r.id = coalesce(x.receipt_id, p.delivery_id)
	WHERE CASE WHEN x.delivery_id IS NULL THEN ` + isUnresolved + `
		ELSE NOT EXISTS (SELECT FROM oncehook.conflict_resolutions d WHERE d.delivery_id = x.delivery_id) END`

const pinUnresolved = `
	INSERT INTO oncehook.payloads_pinned (delivery_id, retention_class, day, data_key_id, body)
	SELECT p.delivery_id, p.retention_class, p.day, p.data_key_id, p.body` + unresolvedBodies + `
	ON CONFLICT DO NOTHING`

// payloads drops the days of bodies that are past their class's clock.
func (r *retention) payloads(ctx context.Context) error {
	for _, class := range []string{"short", "standard", "long"} {
		line := RetentionLine{What: "payloads " + class, Keep: r.clocks.Payloads[class]}
		list, err := r.oldPartitions(ctx, fmt.Sprintf("payloads_c%d", RetentionClasses()[class]), r.beforeDay(line.Keep))
		if err != nil {
			return fmt.Errorf("list the days of %s: %w", line.What, err)
		}
		for _, p := range list {
			if err := r.weigh(ctx, &line, p); err != nil {
				return err
			}
			var kept int64
			if err := r.pool.QueryRow(ctx, `SELECT count(*)`+fmt.Sprintf(unresolvedBodies, p.table())).Scan(&kept); err != nil {
				return fmt.Errorf("count what is unresolved in %s: %w", p.Name, err)
			}
			line.Kept, line.Rows = line.Kept+kept, line.Rows-kept
			if r.apply {
				if err := r.dropPayloads(ctx, p); err != nil {
					return fmt.Errorf("drop %s: %w", p.Name, err)
				}
			}
		}
		r.lines = append(r.lines, line)
	}
	return nil
}

// dropPayloads moves what is unresolved and drops the rest. The bodies are copied
// before the detachment, so that each can be read at any moment, and again with
// the drop, for what became unresolved meanwhile.
func (r *retention) dropPayloads(ctx context.Context, p dayPartition) error {
	pin := fmt.Sprintf(pinUnresolved, p.table())
	if _, err := r.pool.Exec(ctx, pin); err != nil {
		return err
	}
	if err := r.detach(ctx, p); err != nil {
		return err
	}
	return pgx.BeginFunc(ctx, r.pool, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, pin); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `DROP TABLE `+p.table())
		return err
	})
}

// detach takes a day away from its parent without stopping those who read or
// write the others, and completes a detachment that was broken off.
func (r *retention) detach(ctx context.Context, p dayPartition) error {
	how := "CONCURRENTLY"
	switch {
	case p.Pending:
		how = "FINALIZE"
	case !p.Attached:
		return nil
	}
	_, err := r.pool.Exec(ctx, `ALTER TABLE `+p.parent()+` DETACH PARTITION `+p.table()+` `+how)
	return err
}

// evidence drops the days of the audit.
func (r *retention) evidence(ctx context.Context) error {
	for _, parent := range []string{"audit", "audit_sums"} {
		line := RetentionLine{What: parent, Keep: r.clocks.Audit}
		list, err := r.oldPartitions(ctx, parent, r.beforeDay(line.Keep))
		if err != nil {
			return fmt.Errorf("list the days of %s: %w", parent, err)
		}
		for _, p := range list {
			if err := r.weigh(ctx, &line, p); err != nil {
				return err
			}
			if !r.apply {
				continue
			}
			if err := r.detach(ctx, p); err != nil {
				return fmt.Errorf("drop %s: %w", p.Name, err)
			}
			if _, err := r.pool.Exec(ctx, `DROP TABLE `+p.table()); err != nil {
				return fmt.Errorf("drop %s: %w", p.Name, err)
			}
		}
		r.lines = append(r.lines, line)
	}
	return nil
}

// weigh adds a partition to what goes.
func (r *retention) weigh(ctx context.Context, line *RetentionLine, p dayPartition) error {
	var rows int64
	if err := r.pool.QueryRow(ctx, `SELECT count(*) FROM `+p.table()).Scan(&rows); err != nil {
		return fmt.Errorf("count %s: %w", p.Name, err)
	}
	line.Partitions, line.Rows, line.Bytes = line.Partitions+1, line.Rows+rows, line.Bytes+p.Bytes
	if line.Oldest.IsZero() {
		line.Oldest = p.Day
	}
	line.Newest = p.Day
	return nil
}
