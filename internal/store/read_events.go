package store

import (
	"context"
	"encoding/base64"
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/oncehook/oncehook"
)

// ErrNotFound says that there is no such thing, or that the operator may not see it.
var ErrNotFound = errors.New("not found")

// ErrCursor says that a cursor is none of ours.
var ErrCursor = errors.New("the cursor is not one that a page returned")

// EventView is a receipt as lists show it.
type EventView struct {
	ReceiptID uuid.UUID       `db:"id"`
	EventKey  oncehook.Key    `db:"key"`
	EventID   string          `db:"event_id"`
	Source    string          `db:"source"`
	Tenant    string          `db:"tenant"`
	Type      string          `db:"event_type"`
	State     oncehook.State  `db:"state"`
	Status    oncehook.Status `db:"status"`
	FirstSeen time.Time       `db:"received_at"`
}

// EventPage is one page of a list, the newest first.
type EventPage struct {
	Events []EventView
	// Next is the cursor of the next page, "" on the last one.
	Next string
}

// Page says which part of a list to read.
type Page struct {
	// Cursor is the Next of the page before, or "".
	Cursor string
	// Size is how many to read, at least 1.
	Size int
}

// EventFilter narrows a list; an empty field does not.
type EventFilter struct {
	Source string
	Tenant string
	Type   string
	State  oncehook.State
}

// statusColumn derives what people are shown from actions, outbox and switches.
const statusColumn = `CASE
	WHEN r.state IN ('succeeded', 'ignored', 'dead_lettered') THEN r.state
	WHEN EXISTS (SELECT FROM actions a WHERE a.receipt_id = r.id AND a.state = 'uncertain') THEN 'uncertain'
	WHEN EXISTS (SELECT FROM actions a WHERE a.receipt_id = r.id AND a.state IN ('running', 'failed')
			AND a.outcome IS NULL AND a.waits_for IS NOT NULL) THEN 'parked'
	WHEN EXISTS (SELECT FROM actions a WHERE a.receipt_id = r.id AND a.run_no = r.run_no
			AND a.state = 'running' AND a.last_error IS NOT NULL)
		OR EXISTS (SELECT FROM outbox o WHERE o.receipt_id = r.id AND o.dispatched_at IS NULL AND o.last_error IS NOT NULL)
		THEN 'retryable_failure'
	WHEN r.state IN ('received', 'queued') AND EXISTS (SELECT FROM switches s
			WHERE s.kind = 'hold' AND s.released_at IS NULL AND s.action IS NULL
			AND (s.source IS NULL OR s.source = r.source) AND (s.tenant IS NULL OR s.tenant = r.tenant)
			AND (s.event_type IS NULL OR s.event_type = r.event_type))
		THEN 'held'
	ELSE r.state END AS status`

const eventColumns = `r.id, r.key, r.event_id, r.source, r.tenant, r.event_type, r.state, ` + statusColumn + `, r.received_at`

// Events lists what the scope may see and the filter selects.
func (a *Admin) Events(ctx context.Context, scope Scope, filter EventFilter, page Page) (EventPage, error) {
	where := &conditions{args: pgx.StrictNamedArgs{}}
	where.scope(scope)
	where.equal("r.source", "source", filter.Source)
	where.equal("r.tenant", "tenant", filter.Tenant)
	where.equal("r.event_type", "type", filter.Type)
	where.equal("r.state", "state", string(filter.State))
	return a.eventPage(ctx, "", where, page)
}

// eventPage reads one page of the receipts that the conditions select. The
// statement begins with the given WITH clause, if any.
func (a *Admin) eventPage(ctx context.Context, with string, where *conditions, page Page) (EventPage, error) {
	if err := a.usable(ctx); err != nil {
		return EventPage{}, err
	}
	if page.Cursor != "" {
		at, id, err := parseCursor(page.Cursor)
		if err != nil {
			return EventPage{}, err
		}
		where.add("(r.received_at, r.id) < (@cursor_at, @cursor_id)", "cursor_at", at, "cursor_id", id)
	}
	where.args["size"] = page.Size + 1
	rows, err := a.pool.Query(ctx, with+`SELECT `+eventColumns+` FROM receipts r`+where.clause()+`
		ORDER BY r.received_at DESC, r.id DESC LIMIT @size`, where.args)
	if err != nil {
		return EventPage{}, reading("list events", err)
	}
	events, err := pgx.CollectRows(rows, pgx.RowToStructByName[EventView])
	if err != nil {
		return EventPage{}, reading("list events", err)
	}
	if len(events) <= page.Size {
		return EventPage{Events: events}, nil
	}
	events = events[:page.Size]
	last := events[len(events)-1]
	return EventPage{Events: events, Next: formatCursor(last.FirstSeen, last.ReceiptID)}, nil
}

// conditions builds a WHERE clause whose values are all parameters.
type conditions struct {
	parts []string
	args  pgx.StrictNamedArgs
}

// add adds a condition and the named values that it uses.
func (c *conditions) add(condition string, named ...any) {
	c.parts = append(c.parts, condition)
	for n := 0; n+1 < len(named); n += 2 {
		c.args[named[n].(string)] = named[n+1]
	}
}

func (c *conditions) equal(column, name, value string) {
	if value != "" {
		c.add(column+" = @"+name, name, value)
	}
}

func (c *conditions) scope(s Scope) {
	if !s.allSources() {
		c.add("r.source = ANY(@scope_sources::text[])", "scope_sources", nonNil(s.Sources))
	}
	if !s.allTenants() {
		c.add("r.tenant = ANY(@scope_tenants::text[])", "scope_tenants", nonNil(s.Tenants))
	}
}

func (c *conditions) clause() string {
	if len(c.parts) == 0 {
		return ""
	}
	return " WHERE " + strings.Join(c.parts, " AND ")
}

// nonNil makes an empty list of none: SQL's NULL would be something else.
func nonNil(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// A cursor is the last row's time, in microseconds as PostgreSQL keeps it, and id.
func formatCursor(at time.Time, id uuid.UUID) string {
	return base64.RawURLEncoding.EncodeToString([]byte(strconv.FormatInt(at.UnixMicro(), 10) + "|" + id.String()))
}

func parseCursor(cursor string) (time.Time, uuid.UUID, error) {
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return time.Time{}, uuid.Nil, ErrCursor
	}
	micros, id, ok := strings.Cut(string(raw), "|")
	if !ok {
		return time.Time{}, uuid.Nil, ErrCursor
	}
	// PostgreSQL's own range of years would refuse more than this anyway.
	n, err := strconv.ParseInt(micros, 10, 64)
	if err != nil || n < 0 || n > 1<<58 {
		return time.Time{}, uuid.Nil, ErrCursor
	}
	parsed, err := uuid.Parse(id)
	if err != nil {
		return time.Time{}, uuid.Nil, ErrCursor
	}
	return time.UnixMicro(n).UTC(), parsed, nil
}
