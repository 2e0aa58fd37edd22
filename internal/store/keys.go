package store

import (
	"context"
	"fmt"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oncehook/oncehook/internal/keyring"
)

// Keys is the database as a rotation of keys sees it. It connects as the owner
// of the tables.
type Keys struct {
	pool    *pgxpool.Pool
	keyring *keyring.Keyring
}

// OpenKeys opens the database of a rotation. It does not wait for PostgreSQL.
func OpenKeys(_ context.Context, o Options) (*Keys, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	pool, err := openPool(o, migrateSession, newLines())
	if err != nil {
		return nil, err
	}
	return &Keys{pool: pool, keyring: o.Keyring}, nil
}

// Close closes the connections.
func (k *Keys) Close() { k.pool.Close() }

// Needed returns how many rows cannot be used without the key: data keys that a
// wrap key wraps, events whose fingerprint a fingerprint key made. Of a payload
// key Temporal alone knows.
func (k *Keys) Needed(ctx context.Context, key keyring.KeyInfo) (int64, error) {
	var query string
	switch key.Kind {
	case keyring.KindWrap:
		query = `SELECT count(*) FROM tenant_keys WHERE wrap_key_id = $1`
	case keyring.KindFingerprint:
		query = `SELECT count(*) FROM event_keys WHERE fingerprint_key_id = $1`
	default:
		return 0, nil
	}
	var n int64
	if err := k.pool.QueryRow(ctx, query, int64(key.ID)).Scan(&n); err != nil {
		return 0, fmt.Errorf("count what needs key %s: %w", key.Name(), brief(err))
	}
	return n, nil
}

// KeyHolder is a process that reported its keys lately.
type KeyHolder struct {
	Process uuid.UUID
	// Roles are the names under which it connects, such as "oncehook work".
	Roles []string
	// Silent is how long ago it last reported.
	Silent time.Duration
}

// Lacking lists the running processes that do not hold the key: what it seals,
// they cannot open. One that was killed counts for another minute and a half.
func (k *Keys) Lacking(ctx context.Context, key keyring.KeyInfo) ([]KeyHolder, error) {
	return k.holders(ctx, `NOT known @> ARRAY[$1]`, key)
}

// Sealing lists the running processes for which the key is the primary one.
func (k *Keys) Sealing(ctx context.Context, key keyring.KeyInfo) ([]KeyHolder, error) {
	return k.holders(ctx, `primaries @> ARRAY[$1]`, key)
}

func (k *Keys) holders(ctx context.Context, condition string, key keyring.KeyInfo) ([]KeyHolder, error) {
	rows, _ := k.pool.Query(ctx, `
		SELECT process, array_agg(role ORDER BY role), now() - max(at) FROM key_reports
		WHERE at > now() - $2::interval AND known <> '{}' AND `+condition+`
		GROUP BY process ORDER BY process`, key.Name(), keyReportLive)
	holders, err := pgx.CollectRows(rows, pgx.RowToStructByPos[KeyHolder])
	if err != nil {
		return nil, fmt.Errorf("ask which processes hold key %s: %w", key.Name(), brief(err))
	}
	return holders, nil
}

// KeyUse is how long a key was known and used.
type KeyUse struct {
	// FirstSeen is when a process first held the key, LastPrimary when one last
	// used it for what is new. Both are zero where that never happened.
	FirstSeen, LastPrimary time.Time
}

// Used returns how long the key has been known and was used.
func (k *Keys) Used(ctx context.Context, key keyring.KeyInfo) (KeyUse, error) {
	var first, last *time.Time
	err := k.pool.QueryRow(ctx, `SELECT min(first_seen_at), min(last_primary_at) FROM key_uses WHERE key = $1`, key.Name()).Scan(&first, &last)
	if err != nil {
		return KeyUse{}, fmt.Errorf("ask how long key %s was used: %w", key.Name(), brief(err))
	}
	var u KeyUse
	if first != nil {
		u.FirstSeen = *first
	}
	if last != nil {
		u.LastPrimary = *last
	}
	return u, nil
}
