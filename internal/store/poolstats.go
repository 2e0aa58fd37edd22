package store

import (
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// PoolStat is the state of one pool of connections.
type PoolStat struct {
	// Name is the role's, with what the pool is kept for where a role has two.
	Name             string
	Used, Idle, Most int64
	// Waits counts the requests that found no idle connection, Waited how long
	// all requests waited.
	Waits  int64
	Waited time.Duration
}

func poolStat(name string, pool *pgxpool.Pool) PoolStat {
	s := pool.Stat()
	return PoolStat{
		Name: name, Used: int64(s.AcquiredConns()), Idle: int64(s.IdleConns()), Most: int64(s.MaxConns()),
		Waits: s.EmptyAcquireCount(), Waited: s.EmptyAcquireWaitTime(),
	}
}

// Pools returns the state of the ingress's pools.
func (s *Ingress) Pools() []PoolStat {
	return []PoolStat{poolStat("ingress", s.pool), poolStat("ingress_commits", s.commits)}
}

// Pools returns the state of the worker's pools.
func (s *Work) Pools() []PoolStat {
	return []PoolStat{poolStat("work", s.pool), poolStat("work_effects", s.effects)}
}

// Pools returns the state of the admin's pool.
func (s *Admin) Pools() []PoolStat { return []PoolStat{poolStat("admin", s.pool)} }
