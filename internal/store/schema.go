package store

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oncehook/oncehook"
)

// SchemaFault is the kind of a SchemaError.
type SchemaFault int

// Why a schema can be unusable.
const (
	// SchemaPending lacks something that migrate, or a grant, adds: it may become
	// usable while a process waits.
	SchemaPending SchemaFault = iota + 1
	// SchemaChanged has a migration from a file that differs from this binary's.
	SchemaChanged
	// SchemaTooNew serves newer binaries only.
	SchemaTooNew
	// SchemaForeign belongs to an installation with another identity key.
	SchemaForeign
)

// SchemaError says why the database's schema is unusable for this binary.
type SchemaError struct {
	Fault  SchemaFault
	Reason string
}

func (e *SchemaError) Error() string { return "the database schema is unusable: " + e.Reason }

// appliedVersion is a row of schema_versions.
type appliedVersion struct {
	Version    int64
	Checksum   string
	ServesFrom int64
}

// CheckSchema returns nil when this binary can work with the database's schema,
// and a *SchemaError when the schema lacks a migration or this role's grants, has
// a migration from a changed file, serves newer binaries only, or belongs to
// another installation. A newer schema that still serves this binary is fine. Any
// other error means that PostgreSQL could not be asked. The role needs nothing
// but to call schema_v1.
func CheckSchema(ctx context.Context, pool *pgxpool.Pool, identity oncehook.Identity) error {
	_, known, err := ownMigrations()
	if err != nil {
		return err
	}
	applied, check, err := askSchema(ctx, pool)
	if err != nil {
		return err
	}
	if err := compareVersions(known, applied); err != nil {
		return err
	}
	return compareIdentity(check, identity)
}

// schemaQuestion is the migration that made schema_v1.
const schemaQuestion = "0004_grants.sql"

func askSchema(ctx context.Context, q querier) (applied []appliedVersion, identityCheck []byte, err error) {
	var v appliedVersion
	rows, _ := q.Query(ctx, `SELECT version, checksum, serves_from, identity_check FROM oncehook.schema_v1()`)
	_, err = pgx.ForEachRow(rows, []any{&v.Version, &v.Checksum, &v.ServesFrom, &identityCheck}, func() error {
		applied = append(applied, v)
		return nil
	})
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		switch refused.Code {
		case codeUndefinedFunction, codeUndefinedTable, codeUndefinedSchema:
			return nil, nil, lacksMigration(schemaQuestion)
		case codeNoPrivilege:
			return nil, nil, &SchemaError{SchemaPending, "this database role lacks a grant: " + refused.Message}
		}
	}
	if err != nil {
		return nil, nil, fmt.Errorf("ask for the schema's versions: %w", err)
	}
	return applied, identityCheck, nil
}

func lacksMigration(name string) error {
	return &SchemaError{SchemaPending, fmt.Sprintf("it lacks migration %s: run migrate up", name)}
}

func compareVersions(known []migration, applied []appliedVersion) error {
	newest := known[len(known)-1].version
	for _, m := range known {
		i := slices.IndexFunc(applied, func(a appliedVersion) bool { return a.Version == m.version })
		if i < 0 {
			return lacksMigration(m.name)
		}
		if applied[i].Checksum != m.checksum {
			return checksumMismatch(ownSchema, m)
		}
	}
	for _, a := range applied {
		if a.ServesFrom > newest {
			return &SchemaError{SchemaTooNew, fmt.Sprintf("its version %d serves binaries from schema version %d on, this one knows %d", a.Version, a.ServesFrom, newest)}
		}
	}
	return nil
}

// compareIdentity proves that stored, nil where nothing is, is the check value of this identity key.
func compareIdentity(stored []byte, identity oncehook.Identity) error {
	if stored == nil {
		return &SchemaError{SchemaPending, "the installation's identity is not stored yet: run migrate up"}
	}
	if subtle.ConstantTimeCompare(stored, identity.CheckValue()) != 1 {
		return &SchemaError{SchemaForeign, "keys.identity is not the identity key of this database's installation"}
	}
	return nil
}

// MigrationState is one migration as the database and this binary know it.
type MigrationState struct {
	Version int64
	// Name is the file's name, or "" when this binary does not know the migration.
	Name    string
	Applied bool
	// AppliedAt is zero for a migration that is pending.
	AppliedAt time.Time
	// ServesFrom is the oldest binary, by the newest migration it knows, that
	// works with the schema after this migration.
	ServesFrom int64
}

// MigrationStatus lists the migrations that the database or this binary knows, by
// version. Like Migrate, it reads the tables, as their owner.
func MigrationStatus(ctx context.Context, o Options) ([]MigrationState, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	_, known, err := ownMigrations()
	if err != nil {
		return nil, err
	}
	pool, err := migratePool(o, ownSchema)
	if err != nil {
		return nil, err
	}
	defer pool.Close()
	rows, _ := pool.Query(ctx, `SELECT version, '', true, applied_at, serves_from FROM oncehook.schema_versions WHERE version > 0`)
	states, err := pgx.CollectRows(rows, pgx.RowToStructByPos[MigrationState])
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == codeUndefinedTable {
		err = nil // the schema does not exist yet
	}
	if err != nil {
		return nil, fmt.Errorf("read schema_versions: %w", err)
	}
	for _, m := range known {
		i := slices.IndexFunc(states, func(s MigrationState) bool { return s.Version == m.version })
		if i < 0 {
			i = len(states)
			states = append(states, MigrationState{Version: m.version, ServesFrom: m.servesFrom})
		}
		states[i].Name = m.name
	}
	slices.SortFunc(states, func(a, b MigrationState) int { return int(a.Version - b.Version) })
	return states, nil
}
