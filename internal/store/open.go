package store

import (
	"context"
	"log/slog"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oncehook/oncehook/internal/keyring"
)

// role is what the three roles share: one pool, the clock, the tenants' keys
// and the check that the schema is usable.
type role struct {
	pool    *pgxpool.Pool
	lines   *lines
	keys    *dataKeys
	gate    *gate
	reports *keyReporter
	now     func() time.Time
	log     *slog.Logger
	process uuid.UUID
}

func openRole(o Options, s session) (*role, error) {
	over := newLines()
	pool, err := openPool(o, s, over)
	if err != nil {
		return nil, err
	}
	g := openGate(pool, o.Keyring.Identity(), o.Log)
	return &role{
		pool:    pool,
		lines:   over,
		keys:    newDataKeys(pool, o.Keyring, o.Now),
		gate:    g,
		reports: startKeyReports(pool, g, o),
		now:     o.Now,
		log:     o.Log,
		process: o.Process,
	}, nil
}

func (r *role) close() {
	r.reports.close()
	r.gate.close()
	r.pool.Close()
}

// Ping reports whether PostgreSQL answers now.
func (r *role) Ping(ctx context.Context) error { return r.pool.Ping(ctx) }

// Schema reports whether the schema is usable: nil, a *SchemaError that says
// why not, or another error when PostgreSQL could not be asked yet.
func (r *role) Schema(ctx context.Context) error { return r.gate.check(ctx) }

// dataKey returns the tenant's current data key and its id, and makes one on
// first sight. The tenant "" has the key of what belongs to no tenant.
func (r *role) dataKey(ctx context.Context, tenant string) (*keyring.DataKey, int64, error) {
	return r.keys.current(ctx, tenant)
}

// dataKeyByID returns the tenant's data key of that id, to open what it sealed.
func (r *role) dataKeyByID(ctx context.Context, tenant string, id int64) (*keyring.DataKey, error) {
	return r.keys.byID(ctx, tenant, id)
}

// Work is the store of the dispatcher and the worker. It is safe for concurrent use.
type Work struct {
	*role // its pool is the reserved one
	// effects is the pool of side effects. Dispatch, claims of starts and finish
	// use the role's own, so that effects cannot starve them.
	effects *pgxpool.Pool
}

// OpenWork opens the worker's pools: of Options.Conns (at least 3), two are
// reserved for dispatch and finish. It does not wait for PostgreSQL.
func OpenWork(_ context.Context, o Options) (*Work, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	own, forEffects := o, o
	own.Conns = reservedConns
	forEffects.Conns = max(o.Conns-reservedConns, 1)
	r, err := openRole(own, workSession)
	if err != nil {
		return nil, err
	}
	effects, err := openPool(forEffects, workSession, r.lines)
	if err != nil {
		r.close()
		return nil, err
	}
	return &Work{role: r, effects: effects}, nil
}

// Close closes both pools; it waits for connections in use.
func (s *Work) Close() {
	s.close()
	s.effects.Close()
}

// Shutdown is Close until ctx ends. Then the connections are cut, which breaks
// off what is in flight, and an error says so.
func (s *Work) Shutdown(ctx context.Context) error { return s.lines.shutdown(ctx, s.Close) }

// Admin is the store of the admin API. It is safe for concurrent use.
type Admin struct{ *role }

// OpenAdmin opens the admin role's pool. It does not wait for PostgreSQL.
func OpenAdmin(_ context.Context, o Options) (*Admin, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	r, err := openRole(o, adminSession)
	if err != nil {
		return nil, err
	}
	return &Admin{role: r}, nil
}

// Close closes the pool; it waits for connections in use.
func (s *Admin) Close() { s.close() }

// Shutdown is Close until ctx ends. Then the connections are cut, which breaks
// off what is in flight, and an error says so.
func (s *Admin) Shutdown(ctx context.Context) error { return s.lines.shutdown(ctx, s.Close) }
