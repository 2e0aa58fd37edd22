package store

import (
	"context"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// Bounds of the search for ids that are stored as a hash.
const (
	maxLookupTenants = 1000
	maxLookupKeys    = 5000
)

// LookupSource is what Lookup needs to know of a source to find its hashed ids.
type LookupSource struct {
	Name     string
	Personal bool
}

// Lookup lists the events that q names: a receipt id, a correlation id, an event
// key, or a provider's event id. An id that is stored as a hash, because the source's ids
// are personal or because it is too long, is hashed again for every given source
// and known tenant, up to maxLookupKeys of them.
func (a *Admin) Lookup(ctx context.Context, scope Scope, q string, sources []LookupSource, page Page) (EventPage, error) {
	if err := a.usable(ctx); err != nil {
		return EventPage{}, err
	}
	keys, err := a.lookupKeys(ctx, scope, q, sources)
	if err != nil {
		return EventPage{}, err
	}
	where := &conditions{args: pgx.StrictNamedArgs{}}
	where.scope(scope)
	hits := []string{`SELECT receipt_id FROM event_keys WHERE key = ANY(@keys::text[])`}
	where.args["keys"] = keys
	if storable(q) {
		hits = append(hits, `SELECT id FROM receipts WHERE event_id = @q`)
		where.args["q"] = q
	}
	if id, ok := ParseID(q); ok {
		hits = append(hits, `SELECT @id::uuid`, `SELECT receipt_id FROM event_keys WHERE correlation_id = @id`)
		where.args["id"] = id
	}
	where.add("r.id IN (SELECT receipt_id FROM hits)")
	return a.eventPage(ctx, "WITH hits (receipt_id) AS ("+strings.Join(hits, " UNION ")+") ", where, page)
}

// ParseID reads a receipt id or a correlation id, in the one form in which they are
// told.
func ParseID(q string) (uuid.UUID, bool) {
	id, err := uuid.Parse(q)
	return id, err == nil && len(q) == 36
}

// lookupKeys returns the event keys that q can stand for.
func (a *Admin) lookupKeys(ctx context.Context, scope Scope, q string, sources []LookupSource) ([]string, error) {
	keys := []string{}
	if storable(q) {
		keys = append(keys, q)
	}
	if !utf8.ValidString(q) || len(q) > oncehook.MaxEventID || len(sources) == 0 {
		return keys, nil
	}
	tenants, err := a.knownTenants(ctx, scope)
	if err != nil {
		return nil, err
	}
	identity := a.keys.keyring.Identity()
	for _, source := range sources {
		for _, tenant := range tenants {
			key, err := identity.Key(source.Name, tenant, q, source.Personal)
			if err != nil || storable(q) && !hashedID(key) {
				continue
			}
			if len(keys) >= maxLookupKeys {
				return keys, nil
			}
			keys = append(keys, string(key))
		}
	}
	return keys, nil
}

// knownTenants lists the tenants that have data and that the scope may see.
func (a *Admin) knownTenants(ctx context.Context, scope Scope) ([]string, error) {
	rows, err := a.pool.Query(ctx, `
		SELECT DISTINCT tenant FROM tenant_keys
		WHERE tenant <> '' AND ($1 OR tenant = ANY($2)) ORDER BY tenant LIMIT $3`,
		scope.allTenants(), nonNil(scope.Tenants), maxLookupTenants)
	if err != nil {
		return nil, reading("list tenants", err)
	}
	tenants, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, reading("list tenants", err)
	}
	return tenants, nil
}

// hashedID reports whether the key's id part is a hash: no escape begins with ~k.
func hashedID(key oncehook.Key) bool { return strings.HasPrefix(key.ID(), "~k") }

// storable reports whether PostgreSQL's text can hold s.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
