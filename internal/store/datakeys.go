package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/singleflight"

	"github.com/oncehook/oncehook/internal/keyring"
)

// dataKeys finds, makes and remembers the tenants' data keys.
type dataKeys struct {
	pool    *pgxpool.Pool
	keyring *keyring.Keyring
	now     func() time.Time
	finding singleflight.Group

	mu       sync.Mutex
	byTenant map[string]tenantKey
	byKeyID  map[int64]tenantKey
}

type tenantKey struct {
	id     int64
	tenant string
	key    *keyring.DataKey
	found  time.Time
}

const (
	// dataKeysKept bounds the memory; beyond it, any one is forgotten for a new one.
	dataKeysKept = 4096
	// dataKeyFresh is how soon a retired or erased key is no longer used.
	dataKeyFresh   = 5 * time.Minute
	dataKeyTimeout = 3 * time.Second
)

// ErrNoDataKey says that there is no such data key: it was erased.
var ErrNoDataKey = errors.New("the tenant's data key does not exist")

func newDataKeys(pool *pgxpool.Pool, k *keyring.Keyring, now func() time.Time) *dataKeys {
	return &dataKeys{
		pool: pool, keyring: k, now: now,
		byTenant: map[string]tenantKey{}, byKeyID: map[int64]tenantKey{},
	}
}

func (d *dataKeys) current(ctx context.Context, tenant string) (*keyring.DataKey, int64, error) {
	d.mu.Lock()
	known, ok := d.byTenant[tenant]
	d.mu.Unlock()
	if ok && d.now().Sub(known.found) < dataKeyFresh {
		return known.key, known.id, nil
	}
	found, err := d.find(ctx, "t"+tenant, func(ctx context.Context) (tenantKey, error) { return d.load(ctx, tenant) })
	if err != nil {
		return nil, 0, fmt.Errorf("the tenant's data key: %w", err)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	makeRoom(d.byTenant)
	makeRoom(d.byKeyID)
	d.byTenant[tenant], d.byKeyID[found.id] = found, found
	return found.key, found.id, nil
}

func (d *dataKeys) byID(ctx context.Context, tenant string, id int64) (*keyring.DataKey, error) {
	d.mu.Lock()
	known, ok := d.byKeyID[id]
	d.mu.Unlock()
	if !ok || d.now().Sub(known.found) >= dataKeyFresh {
		var err error
		known, err = d.find(ctx, "i"+strconv.FormatInt(id, 10), func(ctx context.Context) (tenantKey, error) {
			return d.open(ctx, `SELECT id, tenant, wrap_key_id, wrapped FROM oncehook.data_key_v1($1)`, id)
		})
		if err != nil {
			return nil, fmt.Errorf("data key %d: %w", id, err)
		}
		d.mu.Lock()
		makeRoom(d.byKeyID)
		d.byKeyID[id] = known
		d.mu.Unlock()
	}
	if known.tenant != tenant {
		return nil, keyring.ErrUnwrap
	}
	return known.key, nil
}

// find lets concurrent callers share one look-up, which none of them cancels.
func (d *dataKeys) find(ctx context.Context, name string, look func(context.Context) (tenantKey, error)) (tenantKey, error) {
	answer := d.finding.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.Background(), dataKeyTimeout)
		defer cancel()
		return look(ctx)
	})
	select {
	case <-ctx.Done():
		return tenantKey{}, ctx.Err()
	case result := <-answer:
		if result.Err != nil {
			return tenantKey{}, result.Err
		}
		return result.Val.(tenantKey), nil
	}
}

// load reads the tenant's live key; where there is none it offers a new one.
// Of two processes that offer at once, both get the one that was kept.
func (d *dataKeys) load(ctx context.Context, tenant string) (tenantKey, error) {
	found, err := d.open(ctx, `SELECT id, tenant, wrap_key_id, wrapped FROM oncehook.tenant_key_v1($1)`, tenant)
	if !errors.Is(err, ErrNoDataKey) {
		return found, err
	}
	_, wrapped, err := d.keyring.NewDataKey(tenant)
	if err != nil {
		return tenantKey{}, err
	}
	return d.open(ctx, `SELECT id, tenant, wrap_key_id, wrapped FROM oncehook.offer_tenant_key_v1($1, $2, $3)`,
		tenant, int64(wrapped.WrapKeyID), wrapped.Bytes)
}

func (d *dataKeys) open(ctx context.Context, query string, args ...any) (tenantKey, error) {
	var (
		found     tenantKey
		wrapKeyID int64
		wrapped   []byte
	)
	err := d.pool.QueryRow(ctx, query, args...).Scan(&found.id, &found.tenant, &wrapKeyID, &wrapped)
	if errors.Is(err, pgx.ErrNoRows) {
		return tenantKey{}, ErrNoDataKey
	}
	if err != nil {
		return tenantKey{}, err
	}
	found.found = d.now()
	found.key, err = d.keyring.OpenDataKey(found.tenant, keyring.Wrapped{WrapKeyID: uint32(wrapKeyID), Bytes: wrapped}) //nolint:gosec // stored from a uint32
	return found, err
}

func makeRoom[K comparable](m map[K]tenantKey) {
	if len(m) < dataKeysKept {
		return
	}
	for k := range m {
		delete(m, k)
		return
	}
}
