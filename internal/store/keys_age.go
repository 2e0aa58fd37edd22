package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook/internal/keyring"
)

// KeyAges returns, for each kind, for how many days its primary key has been known
// to the installation. keys are those of a process.
func (s *Admin) KeyAges(ctx context.Context, keys []keyring.KeyInfo) (map[string]float64, error) {
	kinds := map[string]string{}
	names := []string{}
	for _, key := range keys {
		if key.Primary {
			kinds[key.Name()] = string(key.Kind)
			names = append(names, key.Name())
		}
	}
	ages := map[string]float64{}
	var (
		name string
		days float64
	)
	rows, _ := s.pool.Query(ctx, `SELECT key, extract(epoch FROM now() - first_seen_at)::float8 / 86400 FROM oncehook.key_uses WHERE key = ANY ($1)`, names)
	_, err := pgx.ForEachRow(rows, []any{&name, &days}, func() error {
		ages[kinds[name]] = max(0, days)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the keys' ages: %w", brief(err))
	}
	return ages, nil
}
