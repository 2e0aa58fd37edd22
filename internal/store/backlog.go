package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Backlog is what is not done at one moment, as a role that may read it sees it.
type Backlog struct {
	OutboxStats
	// DeadLetters counts the dead-lettered receipts of each source that has any.
	DeadLetters map[string]int64
	// Uncertain counts the actions of which nobody knows whether they happened,
	// Parked those that wait for another event; both by action.
	Uncertain map[string]int64
	Parked    map[string]int64
}

// backlog names each count's kind. Its indexes are partial: rows that are done
// are not read.
const backlog = `
SELECT 'outbox', '', count(*), count(*) FILTER (WHERE alert IS NOT NULL), coalesce(extract(epoch FROM now() - min(created_at)), 0)::float8
FROM oncehook.outbox WHERE dispatched_at IS NULL
UNION ALL
SELECT 'dead', source, count(*), 0, 0 FROM oncehook.receipts WHERE state = 'dead_lettered' GROUP BY source
UNION ALL
SELECT 'uncertain', name, count(*), 0, 0 FROM oncehook.actions WHERE state = 'uncertain' GROUP BY name
UNION ALL
SELECT 'parked', name, count(*), 0, 0 FROM oncehook.actions WHERE waits_for IS NOT NULL AND state = 'running' GROUP BY name`

// Backlog reads the counts in one statement.
func (r *role) Backlog(ctx context.Context) (Backlog, error) {
	b := Backlog{DeadLetters: map[string]int64{}, Uncertain: map[string]int64{}, Parked: map[string]int64{}}
	var (
		kind, name      string
		counted, alerts int64
		oldest          float64
	)
	rows, _ := r.pool.Query(ctx, backlog)
	_, err := pgx.ForEachRow(rows, []any{&kind, &name, &counted, &alerts, &oldest}, func() error {
		switch kind {
		case "outbox":
			b.OutboxStats = OutboxStats{Oldest: max(0, time.Duration(oldest*float64(time.Second))), Pending: counted, Alerts: alerts}
		case "dead":
			b.DeadLetters[name] = counted
		case "uncertain":
			b.Uncertain[name] = counted
		case "parked":
			b.Parked[name] = counted
		}
		return nil
	})
	if err != nil {
		return Backlog{}, fmt.Errorf("read the backlog: %w", brief(err))
	}
	return b, nil
}
