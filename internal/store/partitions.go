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
