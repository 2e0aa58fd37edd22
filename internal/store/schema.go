package store

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oncehook/oncehook"
)

// SchemaError says why the database's schema is unusable for this binary.
// Waiting does not help; a migration, another binary or another key does.
type SchemaError struct{ Reason string }

func (e *SchemaError) Error() string { return "the database schema is unusable: " + e.Reason }

// appliedVersion is a row of schema_versions.
type appliedVersion struct {
	Version    int64
	Checksum   string
	ServesFrom int64
	AppliedAt  time.Time
}

// CheckSchema returns nil when this binary can work with the database's schema,
// and a *SchemaError when the schema lacks a migration, has one from a changed
// file, serves newer binaries only, or belongs to another installation. A newer
// schema that still serves this binary is fine. Any other error means that
// PostgreSQL could not be asked.
func CheckSchema(ctx context.Context, pool *pgxpool.Pool, identity oncehook.Identity) error {
	_, known, err := ownMigrations()
	if err != nil {
		return err
	}
	applied, err := appliedVersions(ctx, pool)
	if err != nil {
		return err
	}
	if err := compareVersions(known, applied); err != nil {
		return err
	}
	return checkIdentity(ctx, pool, identity)
}

func compareVersions(known []migration, applied []appliedVersion) error {
	newest := known[len(known)-1].version
	for _, m := range known {
		i := slices.IndexFunc(applied, func(a appliedVersion) bool { return a.Version == m.version })
		if i < 0 {
			return &SchemaError{Reason: fmt.Sprintf("it lacks migration %s: run migrate up", m.name)}
		}
		if applied[i].Checksum != m.checksum {
			return checksumMismatch(ownSchema, m)
		}
	}
	for _, a := range applied {
		if a.ServesFrom > newest {
			return &SchemaError{Reason: fmt.Sprintf("its version %d serves binaries from schema version %d on, this one knows %d", a.Version, a.ServesFrom, newest)}
		}
	}
	return nil
}

// appliedVersions returns nothing when the schema does not exist yet.
func appliedVersions(ctx context.Context, pool *pgxpool.Pool) ([]appliedVersion, error) {
	rows, _ := pool.Query(ctx, `SELECT version, checksum, serves_from, applied_at FROM oncehook.schema_versions WHERE version > 0 ORDER BY version`)
	applied, err := pgx.CollectRows(rows, pgx.RowToStructByPos[appliedVersion])
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == codeUndefinedTable {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read schema_versions: %w", err)
	}
	return applied, nil
}

// MigrationStatus lists the migrations that the database or this binary knows, by version.
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
	applied, err := appliedVersions(ctx, pool)
	if err != nil {
		return nil, err
	}
	states := make([]MigrationState, 0, len(known))
	for _, m := range known {
		states = append(states, MigrationState{Version: m.version, Name: m.name, ServesFrom: m.servesFrom})
	}
	for _, a := range applied {
		i := slices.IndexFunc(states, func(s MigrationState) bool { return s.Version == a.Version })
		if i < 0 {
			i = len(states)
			states = append(states, MigrationState{Version: a.Version})
		}
		states[i].Applied, states[i].AppliedAt, states[i].ServesFrom = true, a.AppliedAt, a.ServesFrom
	}
	return states, nil
}
