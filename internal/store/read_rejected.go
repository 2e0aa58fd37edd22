package store

import (
	"context"
	"errors"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// RejectedView is what is known of a rejected delivery beside its sealed content,
// which stays sealed.
type RejectedView struct {
	// ID is also the correlation id that its sender was answered.
	ID                uuid.UUID     `db:"id"`
	At                time.Time     `db:"at"`
	Source            string        `db:"source"`
	Tenant            *string       `db:"tenant"` // nil: it was refused before its tenant was known
	Principal         string        `db:"principal"`
	CredentialVersion string        `db:"credential_version"`
	Peer              string        `db:"peer"`
	Code              oncehook.Code `db:"code"`
	Field             *string       `db:"field"`
	ExpiresAt         time.Time     `db:"expires_at"`
	ResubmittedAt     *time.Time    `db:"resubmitted_at"`
	// ResubmittedAs is the receipt that it became.
	ResubmittedAs *uuid.UUID `db:"resubmitted_as"`
}

// RejectedPage is one page of rejected deliveries, the newest first.
type RejectedPage struct {
	Rejected []RejectedView
	// Next is the cursor of the next page, "" on the last one.
	Next string
}

// RejectedFilter narrows a list; an empty field does not.
type RejectedFilter struct {
	Source string
	Code   string
	Since  time.Time
}

const rejectedColumns = `r.id, r.at, r.source, r.tenant, r.principal, r.credential_version, r.peer, r.code, r.field,
	r.expires_at, r.resubmitted_at, r.resubmitted_as`

// RejectedList lists the rejected deliveries that the scope may see and the filter
// selects. One without a tenant is seen by a scope of every tenant only.
func (a *Admin) RejectedList(ctx context.Context, scope Scope, filter RejectedFilter, page Page) (RejectedPage, error) {
	if err := a.usable(ctx); err != nil {
		return RejectedPage{}, err
	}
	where := &conditions{args: pgx.StrictNamedArgs{}}
	where.scope(scope)
	where.equal("r.source", "source", filter.Source)
	where.equal("r.code", "code", filter.Code)
	if !filter.Since.IsZero() {
		where.add("r.at >= @since", "since", filter.Since)
	}
	if page.Cursor != "" {
		at, id, err := parseCursor(page.Cursor)
		if err != nil {
			return RejectedPage{}, err
		}
		where.add("(r.at, r.id) < (@cursor_at, @cursor_id)", "cursor_at", at, "cursor_id", id)
	}
	where.args["size"] = page.Size + 1
	rejected, err := collect[RejectedView](ctx, a.pool, `SELECT `+rejectedColumns+` FROM rejected_deliveries r`+where.clause()+`
		ORDER BY r.at DESC, r.id DESC LIMIT @size`, where.args)
	if err != nil {
		return RejectedPage{}, reading("list rejected deliveries", err)
	}
	if len(rejected) <= page.Size {
		return RejectedPage{Rejected: rejected}, nil
	}
	rejected = rejected[:page.Size]
	last := rejected[len(rejected)-1]
	return RejectedPage{Rejected: rejected, Next: formatCursor(last.At, last.ID)}, nil
}

// Rejected reads one rejected delivery, or ErrNotFound.
func (a *Admin) Rejected(ctx context.Context, scope Scope, id uuid.UUID) (RejectedView, error) {
	if err := a.usable(ctx); err != nil {
		return RejectedView{}, err
	}
	where := &conditions{args: pgx.StrictNamedArgs{}}
	where.add("r.id = @id", "id", id)
	where.scope(scope)
	rows, err := a.pool.Query(ctx, `SELECT `+rejectedColumns+` FROM rejected_deliveries r`+where.clause(), where.args)
	if err != nil {
		return RejectedView{}, reading("read the rejected delivery", err)
	}
	rejected, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByName[RejectedView])
	if errors.Is(err, pgx.ErrNoRows) {
		return RejectedView{}, ErrNotFound
	}
	if err != nil {
		return RejectedView{}, reading("read the rejected delivery", err)
	}
	return rejected, nil
}
