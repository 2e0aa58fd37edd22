package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// partitionDays is how many days ahead there are partitions for. One day back
// is made too, for processes whose clocks are behind.
const partitionDays = 14

// PreparePartitions makes the partitions of the coming days that do not exist
// yet. It needs PostgreSQL alone and blocks no reader or writer.
func (s *Work) PreparePartitions(ctx context.Context) error {
	if err := s.gate.check(ctx); err != nil {
		return err
	}
	return preparePartitions(ctx, s.pool, s.now())
}

func preparePartitions(ctx context.Context, pool *pgxpool.Pool, now time.Time) error {
	from := now.UTC().AddDate(0, 0, -1)
	if _, err := pool.Exec(ctx, `SELECT oncehook.prepare_partitions_v1($1::date, $2)`, from, 1+1+partitionDays); err != nil {
		return fmt.Errorf("prepare partitions: %w", err)
	}
	return nil
}

// lookAhead is how far PartitionDays looks.
const lookAhead = 60

// PartitionDays returns for how many days after today every partition exists
// without a gap: -1 when today's own is missing, and at most 60.
func (r *role) PartitionDays(ctx context.Context) (int64, error) {
	var days int64
	err := r.pool.QueryRow(ctx, `
		SELECT coalesce(min(n), $2 + 1) - 1
		FROM generate_series(0, $2::bigint) n, unnest('{payloads_c1,payloads_c2,payloads_c3,audit,audit_sums}'::text[]) parent
		WHERE to_regclass(format('oncehook.%s_%s', parent, to_char($1::date + n::int, 'YYYYMMDD'))) IS NULL`,
		r.now().UTC(), lookAhead).Scan(&days)
	if err != nil {
		return 0, fmt.Errorf("count the days with partitions: %w", err)
	}
	return days, nil
}
