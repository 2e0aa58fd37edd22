package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// RetentionClocks says how long things are kept.
type RetentionClocks struct {
	// Payloads by retention class.
	Payloads                     map[string]time.Duration
	Keys, Audit, Actions, Outbox time.Duration
}

// RetentionLine is what goes, or went, of one kind of thing.
type RetentionLine struct {
	What string
	// Keep is the clock, zero where each row has an end of its own.
	Keep time.Duration
	// Partitions, Rows and Bytes go. Bytes are of whole partitions and bodies;
	// other rows are not weighed.
	Partitions  int
	Rows, Bytes int64
	// Oldest and Newest are days, and zero when nothing goes.
	Oldest, Newest time.Time
	// Kept counts rows that are old enough but belong to something unresolved.
	Kept int64
}

// retentionLock makes runs of retention take turns.
const retentionLock int64 = 0x6f6e636572657461

// ErrRetentionRuns says that another process applies the retention.
var ErrRetentionRuns = errors.New("another process applies the retention")

// Retain deletes what is past its clock, or only says what it would delete. It
// runs as the owner of the tables. It may be killed at any instruction and run
// again: each step is a transaction, or is found half done and completed.
//
// What is unresolved stays: receipts that are not succeeded or ignored, those
// with an uncertain action or an undecided conflict, their keys, and their bodies,
// which move to payloads_pinned before their partition goes.
func Retain(ctx context.Context, o Options, c RetentionClocks, apply bool) ([]RetentionLine, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	pool, err := migratePool(o, ownSchema)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	if err := CheckSchema(ctx, pool, o.Keyring.Identity()); err != nil {
		return nil, err
	}
	r := &retention{pool: pool, clocks: c, now: o.Now().UTC(), apply: apply}
	if apply {
		unlock, err := lockRetention(ctx, pool)
		if err != nil {
			return nil, fmt.Errorf("retention: %w", brief(err))
		}
		defer unlock()
	}
	// Bodies first, while their receipts say what is unresolved; keys before the
	// ledger, which outlives them.
	steps := []func(context.Context) error{r.payloads, r.pinned, r.rejected, r.keys, r.actions, r.outbox, r.evidence}
	for _, step := range steps {
		if err := step(ctx); err != nil {
			return r.lines, fmt.Errorf("retention: %w", brief(err))
		}
	}
	return r.lines, nil
}

// retention is one run.
type retention struct {
	pool   *pgxpool.Pool
	clocks RetentionClocks
	now    time.Time
	apply  bool
	lines  []RetentionLine
}

// before is the time before which things that are kept that long may go.
func (r *retention) before(keep time.Duration) time.Time { return r.now.Add(-keep) }

// beforeDay is the first day whose partition stays: every instant of an earlier
// one is past its clock.
func (r *retention) beforeDay(keep time.Duration) time.Time {
	return r.before(keep).Truncate(24 * time.Hour)
}

// lockRetention takes the lock for as long as its session lives, which is not in
// a transaction: no detachment waits for it.
func lockRetention(ctx context.Context, pool *pgxpool.Pool) (unlock func(), err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	var locked bool
	if err := conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, retentionLock).Scan(&locked); err != nil || !locked {
		conn.Release()
		return nil, errors.Join(err, ErrRetentionRuns)
	}
	return func() { _ = conn.Hijack().Close(context.WithoutCancel(ctx)) }, nil
}

// isUnresolved is the condition that nobody has settled the receipt r yet.
const isUnresolved = `(r.state NOT IN ('succeeded', 'ignored')
	OR EXISTS (SELECT FROM oncehook.actions a WHERE a.receipt_id = r.id AND a.state = 'uncertain')
	OR EXISTS (SELECT FROM oncehook.conflicts c WHERE c.receipt_id = r.id
		AND NOT EXISTS (SELECT FROM oncehook.conflict_resolutions d WHERE d.delivery_id = c.delivery_id)))`
