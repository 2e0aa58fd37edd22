package store

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// rolePrefix is what a prefix may be. Names that begin with pg_ are PostgreSQL's own.
var rolePrefix = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,49}$`)

// RolesReport says what MakeRoles did, or would do.
type RolesReport struct {
	// Made and Found are roles' names.
	Made, Found []string
	// Former are the roles of the prefix that was remembered before, if that was another.
	Former []string
	// Statements is the SQL, in its order; empty when nothing was missing.
	Statements []string
}

// ErrMayNotCreateRoles says that the login lacks CREATEROLE. The report has the SQL.
var ErrMayNotCreateRoles = errors.New("this login may not create roles")

// MakeRoles makes the roles prefix+ingress, prefix+work and prefix+admin where they
// are missing, gives them what this version declares on the schema oncehook and
// on the business schemas, takes back what it does not, and remembers the prefix
// for later migrations. The roles may log in, but have no password: how they prove
// themselves is the operator's to say. It may be called again, and from several
// processes at once. With dry, nothing is changed.
func MakeRoles(ctx context.Context, o Options, prefix string, business []string, dry bool) (RolesReport, error) {
	o, err := o.withDefaults()
	if err != nil {
		return RolesReport{}, err
	}
	if !rolePrefix.MatchString(prefix) || strings.HasPrefix(prefix, "pg_") {
		return RolesReport{}, fmt.Errorf("%q cannot be a prefix of roles: use lower-case letters, digits and _, such as oncehook_", prefix)
	}
	pool, err := migratePool(o, ownSchema)
	if err != nil {
		return RolesReport{}, err
	}
	defer pool.Close()
	unlock, err := lockMigrations(ctx, pool)
	if err != nil {
		return RolesReport{}, fmt.Errorf("wait for other migrations: %w", brief(err))
	}
	defer unlock()
	for attempt := 1; ; attempt++ {
		report, err := makeRoles(ctx, pool, prefix, business, dry)
		// Roles belong to the cluster, the lock to one database of it.
		if refused, ok := errors.AsType[*pgconn.PgError](err); ok && attempt < 3 && madeElsewhere(refused) {
			continue
		}
		if err != nil && !errors.Is(err, ErrMayNotCreateRoles) {
			err = fmt.Errorf("make the roles: %w", brief(err))
		}
		return report, err
	}
}

func madeElsewhere(refused *pgconn.PgError) bool {
	return refused.Code == "42710" || refused.Code == "23505"
}

// beginner is a pool or a connection.
type beginner interface {
	Begin(ctx context.Context) (pgx.Tx, error)
}

func makeRoles(ctx context.Context, db beginner, prefix string, business []string, dry bool) (RolesReport, error) {
	var report RolesReport
	err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		may, err := report.plan(ctx, tx, prefix, business)
		if err != nil || dry {
			return err
		}
		if len(report.Made) > 0 && !may {
			return ErrMayNotCreateRoles
		}
		return execAll(ctx, tx, report.Statements)
	})
	return report, err
}

func execAll(ctx context.Context, tx pgx.Tx, statements []string) error {
	for _, statement := range statements {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// plan fills the report and returns whether the login may create roles.
func (r *RolesReport) plan(ctx context.Context, tx pgx.Tx, prefix string, business []string) (may bool, err error) {
	former, known, err := rememberedPrefix(ctx, tx)
	if err != nil {
		return false, err
	}
	if !known {
		return false, lacksMigration(rolesMigration)
	}
	if former != "" && former != prefix {
		r.Former = roleNames(former)
	}
	var login string
	if err := tx.QueryRow(ctx, `SELECT rolname, rolsuper OR rolcreaterole FROM pg_roles WHERE rolname = current_user`).Scan(&login, &may); err != nil {
		return false, err
	}
	var database string
	var open, mayOpen bool
	if err := tx.QueryRow(ctx, `SELECT quote_ident(current_database()), has_database_privilege('public', current_database(), 'CONNECT'),
		has_database_privilege(current_database(), 'CONNECT WITH GRANT OPTION')`).Scan(&database, &open, &mayOpen); err != nil {
		return false, err
	}
	for _, role := range DatabaseRoles() {
		name := prefix + string(role)
		if name == login {
			return false, fmt.Errorf("this login is %s itself: migrate under the owner of the schema instead", name)
		}
		quoted := pgx.Identifier{name}.Sanitize()
		var exists bool
		if err := tx.QueryRow(ctx, `SELECT to_regrole($1) IS NOT NULL`, quoted).Scan(&exists); err != nil {
			return false, err
		}
		if exists {
			r.Found = append(r.Found, name)
		} else {
			r.Made = append(r.Made, name)
			r.Statements = append(r.Statements, "CREATE ROLE "+quoted+" LOGIN")
			if !open && mayOpen {
				r.Statements = append(r.Statements, "GRANT CONNECT ON DATABASE "+database+" TO "+quoted)
			}
		}
		for _, schema := range append([]string{ownSchema}, business...) {
			grants, err := planGrants(ctx, tx, schema, role, name)
			if err != nil {
				return false, err
			}
			r.Statements = append(r.Statements, grants...)
		}
	}
	if former != prefix {
		// The prefix is letters, digits and _.
		r.Statements = append(r.Statements, "UPDATE oncehook.installation SET role_prefix = '"+prefix+"'")
	}
	return may, nil
}

func roleNames(prefix string) []string {
	var names []string
	for _, role := range DatabaseRoles() {
		names = append(names, prefix+string(role))
	}
	return names
}

// rolesMigration made the place where the prefix is remembered.
const rolesMigration = "0007_roles.sql"

// rememberedPrefix returns "" where there are no roles, and false where there is
// no place to remember them yet.
func rememberedPrefix(ctx context.Context, tx pgx.Tx) (prefix string, known bool, err error) {
	err = tx.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass('oncehook.installation') AND attname = 'role_prefix')`).Scan(&known)
	if err != nil || !known {
		return "", false, err
	}
	err = tx.QueryRow(ctx, `SELECT coalesce(role_prefix, '') FROM oncehook.installation`).Scan(&prefix)
	if errors.Is(err, pgx.ErrNoRows) {
		err = nil
	}
	return prefix, true, err
}

// grantRemembered gives the installation's roles what this version declares on the
// schema, as far as they exist, and takes back the rest. The caller holds the
// migrations' lock.
func grantRemembered(ctx context.Context, o Options, db beginner, schema string) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		prefix, _, err := rememberedPrefix(ctx, tx)
		if err != nil || prefix == "" {
			return err
		}
		for _, role := range DatabaseRoles() {
			name := prefix + string(role)
			var grantable bool
			err := tx.QueryRow(ctx, `SELECT to_regrole($1) IS NOT NULL AND $2 <> current_user`, pgx.Identifier{name}.Sanitize(), name).Scan(&grantable)
			if err != nil {
				return err
			}
			if !grantable {
				o.Log.Warn("a role is not granted anything: it does not exist here, or is the login of migrate", "role", name)
				continue
			}
			statements, err := planGrants(ctx, tx, schema, role, name)
			if err != nil {
				return err
			}
			if err := execAll(ctx, tx, statements); err != nil {
				return err
			}
			if len(statements) > 0 {
				o.Log.Info("privileges changed", "schema", schema, "role", name, "statements", len(statements))
			}
		}
		return nil
	})
}
