package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/oncehook/oncehook/internal/store"
)

// oldestServer is the first major version with all that the schema uses.
const oldestServer = 15

// Login is one role's way to the database, or that of several that connect alike.
type Login struct {
	// Role is ingress, work, admin or migrate; of several, their list.
	Role    string
	Options store.Options
	// Setting is where the DSN is configured. Defaults to the role's own.
	Setting string
	// Pool is how many connections one process of the role opens at most.
	Pool int
	// Shared says that other roles connect alike: SharedLogins tells of it.
	Shared bool
}

func (l Login) setting() string { return cmp.Or(l.Setting, "database."+l.Role) }

// Together merges the roles that connect alike, so that nothing is told twice.
func Together(logins []Login) []Login {
	var merged []Login
	for n, l := range logins {
		if l.Options.URL == "" {
			merged = append(merged, l)
			continue
		}
		roles := []string{}
		for _, other := range logins {
			if other.Options.URL == l.Options.URL {
				roles, l.Pool = append(roles, other.Role), max(l.Pool, other.Pool)
			}
		}
		if first := slices.IndexFunc(logins, func(other Login) bool { return other.Options.URL == l.Options.URL }); first == n {
			l.Role = and(roles)
			merged = append(merged, l)
		}
	}
	return merged
}

// and lists words as a sentence does.
func and(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}

// unreachable is said where Database says the cause.
const unreachable = "not examined: the database cannot be reached"

// connect opens a connection for a check that needs one. That the database cannot be
// reached is Database's to complain of.
func (l Login) connect(ctx context.Context, r *Report) (*store.Examination, bool) {
	if l.Options.URL == "" {
		r.Skip("not examined: no login that may ask is configured here")
		return nil, false
	}
	e, err := store.Examine(ctx, l.Options)
	if err != nil {
		r.Skip(unreachable)
		return nil, false
	}
	return e, true
}

// connectMigrated is connect for a check that needs what migrations make. That they
// are missing is Schema's to complain of.
func (l Login) connectMigrated(ctx context.Context, r *Report) (*store.Examination, bool) {
	e, ok := l.connect(ctx, r)
	if !ok {
		return nil, false
	}
	why := ""
	if exists, err := e.SchemaExists(ctx); err == nil && !exists {
		why = "missing"
	} else if unusable, ok := errors.AsType[*store.SchemaError](e.Schema(ctx, nil)); ok && unusable.Fault == store.SchemaPending && !lacksGrant(unusable) {
		why = "not up to date"
	}
	if why != "" {
		e.Close()
		r.Skip("not examined: the schema is %s", why)
		return nil, false
	}
	return e, true
}

// Database examines the server as one login sees it.
func Database(l Login) Check {
	return Check{"database", func(ctx context.Context, r *Report) {
		if l.Options.URL == "" {
			r.Skip("%s: not examined: it has no DSN here", l.Role)
			return
		}
		e, err := store.Examine(ctx, l.Options)
		if err != nil {
			r.Block("see that PostgreSQL runs, that "+l.setting()+" names it, and that the login may connect", "%s: the database cannot be reached: %v", l.Role, err)
			return
		}
		defer e.Close()
		facts, err := e.Server(ctx)
		if err != nil {
			r.Block("see the server's log", "%s: %v", l.Role, err)
			return
		}
		r.OK("%s: PostgreSQL %s, database %s as %s; %d of %d connections are taken", l.Role, facts.Version, facts.Database, facts.Login, facts.Connections, facts.Room)
		server(l, facts, r)
		settings(l, facts, r)
		clock(l, facts, r)
	}}
}

func server(l Login, f store.ServerFacts, r *Report) {
	if f.Major < oldestServer {
		r.Block(fmt.Sprintf("upgrade to PostgreSQL %d or later", oldestServer), "%s: PostgreSQL %s is too old", l.Role, f.Version)
	}
	if f.Standby {
		r.Block("name the primary", "%s: this server is a standby, which takes no writes", l.Role)
	}
	if f.Encoding != "UTF8" {
		r.Block("make the database with ENCODING 'UTF8'", "%s: the database's encoding is %s, which cannot hold every event", l.Role, f.Encoding)
	}
	if !f.Encrypted && !f.Local {
		r.Warn("add sslmode=verify-full to the DSN", "%s: the connection to another machine is not encrypted", l.Role)
	}
	room := f.Room
	if f.ConnectionLimit >= 0 && !f.Superuser {
		room = min(room, f.ConnectionLimit)
	}
	if l.Pool > room {
		r.Block("raise max_connections, or the role's CONNECTION LIMIT, or lower work.local_slots", "%s: one process opens up to %d connections, and there are %d", l.Role, l.Pool, room)
	}
}

// settings finds those under which a promise does not hold.
func settings(l Login, f store.ServerFacts, r *Report) {
	for _, s := range []struct{ name, bad, then string }{
		{"fsync", "off", "a crash of the machine can lose or damage what was answered 2xx"},
		{"full_page_writes", "off", "a crash of the machine can damage what was answered 2xx"},
		{"synchronous_commit", "off", "a crash of the server can lose what was answered 2xx"},
		{"default_transaction_read_only", "on", "nothing can be written"},
	} {
		if f.Settings[s.name] == s.bad {
			r.Block("set it the other way for the server, this database and this login", "%s: %s is %s: %s", l.Role, s.name, s.bad, s.then)
		}
	}
	if level := f.Settings["default_transaction_isolation"]; level != "read committed" {
		r.Block("set it to read committed for this login", "%s: default_transaction_isolation is %s: accepting cannot see a first copy that committed meanwhile", l.Role, level)
	}
	if f.Settings["autovacuum"] == "off" {
		r.Warn("set it to on", "%s: autovacuum is off: the outbox and the ledger slow down as they are used", l.Role)
	}
}

const clockTolerance = time.Minute

func clock(l Login, f store.ServerFacts, r *Report) {
	if difference := f.Ahead.Abs() - f.Precision; difference > clockTolerance {
		r.Warn("let both keep time by NTP", "%s: this machine's clock and the database's differ by %s: leases, replay windows and stored times disagree", l.Role, difference.Round(time.Second))
	}
}

// Connections compares what one process of each role opens with what the server has.
// It asks as the first login that can connect.
func Connections(logins []Login) Check {
	return Check{"database", func(ctx context.Context, r *Report) {
		total, configured := 0, false
		for _, l := range logins {
			total += l.Pool
			configured = configured || l.Options.URL != ""
		}
		if !configured {
			r.Block("set database.url, or one DSN for each role", "no DSN is configured")
			return
		}
		for _, l := range logins {
			if connectionsAs(ctx, l, total, r) {
				return
			}
		}
	}}
}

func connectionsAs(ctx context.Context, l Login, total int, r *Report) bool {
	e, err := store.Examine(ctx, l.Options)
	if err != nil {
		return false
	}
	defer e.Close()
	facts, err := e.Server(ctx)
	const remedy = "raise max_connections, or lower work.local_slots"
	switch {
	case err != nil:
		return false
	case total > facts.Room:
		r.Warn(remedy, "one process of each role opens up to %d connections, and the server has %d", total, facts.Room)
	case 2*total > facts.Room:
		r.Warn(remedy, "during a rolling restart the roles open up to %d connections, and the server has %d", 2*total, facts.Room)
	default:
		r.OK("one process of each role opens up to %d connections, and the server has %d", total, facts.Room)
	}
	return true
}

// SharedLogins says which roles connect alike, and so are not kept apart.
func SharedLogins(logins []Login) Check {
	return Check{"grants", func(ctx context.Context, r *Report) {
		byURL := map[string][]string{}
		for _, l := range logins {
			if l.Options.URL != "" {
				byURL[l.Options.URL] = append(byURL[l.Options.URL], l.Role)
			}
		}
		for _, l := range logins {
			if roles := byURL[l.Options.URL]; len(roles) > 1 && roles[0] == l.Role {
				kind := ""
				if isSuperuser(ctx, l) {
					kind = "superuser "
				}
				r.Warn("oncehook migrate roles makes a login for each", "%s share one %slogin: whoever takes over one of them is all of them", and(roles), kind)
			}
		}
	}}
}

func isSuperuser(ctx context.Context, l Login) bool {
	e, err := store.Examine(ctx, l.Options)
	if err != nil {
		return false
	}
	defer e.Close()
	facts, err := e.Server(ctx)
	return err == nil && facts.Superuser
}
