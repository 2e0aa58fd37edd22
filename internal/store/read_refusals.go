package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// RefusalGroup is how many refusals were counted of one source, outcome, cause and
// network.
type RefusalGroup struct {
	// Source is "" for a path of no source.
	Source       string            `db:"source"`
	Outcome      oncehook.Decision `db:"outcome"`
	Cause        string            `db:"cause"`
	AddressBlock string            `db:"address_block"`
	Count        int64             `db:"count"`
	FirstAt      time.Time         `db:"first_at"`
	LastAt       time.Time         `db:"last_at"`
}

// SeesEveryTenant reports whether the scope leaves out no tenant.
func (s Scope) SeesEveryTenant() bool { return s.allTenants() }

// Refusals groups the refusals that are counted only, of the minutes from since
// on: at most so many groups, the latest first, and whether there are more. Whose
// they are is not known: a scope that does not see every tenant sees none.
func (a *Admin) Refusals(ctx context.Context, scope Scope, source string, since time.Time, most int) ([]RefusalGroup, bool, error) {
	if err := a.usable(ctx); err != nil {
		return nil, false, err
	}
	if !scope.SeesEveryTenant() {
		return nil, false, nil
	}
	where := &conditions{args: pgx.StrictNamedArgs{}}
	where.add("r.minute >= @since", "since", since.Truncate(time.Minute))
	where.scope(scope)
	where.equal("r.source", "source", source)
	where.args["most"] = most + 1
	groups, err := collect[RefusalGroup](ctx, a.pool, `
		SELECT r.source, r.outcome, r.cause, r.address_block,
			sum(r.count)::bigint AS count, min(r.first_at) AS first_at, max(r.last_at) AS last_at
		FROM audit_sums r`+where.clause()+`
		GROUP BY r.source, r.outcome, r.cause, r.address_block
		ORDER BY max(r.last_at) DESC, r.source, r.outcome, r.cause, r.address_block LIMIT @most`, where.args)
	if err != nil {
		return nil, false, reading("group refusals", err)
	}
	if len(groups) > most {
		return groups[:most], true, nil
	}
	return groups, false, nil
}
