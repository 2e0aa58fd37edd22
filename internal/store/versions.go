package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/pressly/goose/v3/database"
)

// versions is the table schema_versions of one schema, in the terms of goose.
// Beside each applied version it keeps the file's checksum and the oldest
// binary that the schema still serves.
type versions struct {
	schema string
	known  map[int64]migration
}

var _ database.StoreExtender = (*versions)(nil)

func newVersions(schema string, list []migration) *versions {
	known := make(map[int64]migration, len(list))
	for _, m := range list {
		known[m.version] = m
	}
	return &versions{schema: schema, known: known}
}

// Tablename returns the quoted, qualified name.
func (v *versions) Tablename() string {
	return pgx.Identifier{v.schema, "schema_versions"}.Sanitize()
}

// CreateVersionTable makes the table.
func (v *versions) CreateVersionTable(ctx context.Context, db database.DBTxConn) error {
	_, err := db.ExecContext(ctx, `CREATE TABLE `+v.Tablename()+` (
		version     bigint PRIMARY KEY,
		checksum    text        NOT NULL,
		serves_from bigint      NOT NULL,
		applied_at  timestamptz NOT NULL DEFAULT now()
	)`)
	return err
}

// TableExists reports whether the table exists.
func (v *versions) TableExists(ctx context.Context, db database.DBTxConn) (bool, error) {
	var exists bool
	err := db.QueryRowContext(ctx, `SELECT to_regclass($1) IS NOT NULL`, v.Tablename()).Scan(&exists)
	return exists, err
}

// Insert records a version as applied; 0 is goose's own first row.
func (v *versions) Insert(ctx context.Context, db database.DBTxConn, r database.InsertRequest) error {
	m := v.known[r.Version]
	_, err := db.ExecContext(ctx, `INSERT INTO `+v.Tablename()+` (version, checksum, serves_from) VALUES ($1, $2, $3)`,
		r.Version, m.checksum, m.servesFrom)
	return err
}

// Delete refuses: migrations only move forward.
func (v *versions) Delete(context.Context, database.DBTxConn, int64) error {
	return database.ErrNotImplemented
}

// GetMigration returns when a version was applied.
func (v *versions) GetMigration(ctx context.Context, db database.DBTxConn, version int64) (*database.GetMigrationResult, error) {
	r := &database.GetMigrationResult{IsApplied: true}
	err := db.QueryRowContext(ctx, `SELECT applied_at FROM `+v.Tablename()+` WHERE version = $1`, version).Scan(&r.Timestamp)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, database.ErrVersionNotFound
	}
	return r, err
}

// GetLatestVersion returns the highest applied version.
func (v *versions) GetLatestVersion(ctx context.Context, db database.DBTxConn) (int64, error) {
	var version sql.NullInt64
	if err := db.QueryRowContext(ctx, `SELECT max(version) FROM `+v.Tablename()).Scan(&version); err != nil {
		return 0, err
	}
	if !version.Valid {
		return 0, database.ErrVersionNotFound
	}
	return version.Int64, nil
}

// ListMigrations returns the applied versions, newest first, and fails when one
// of them was applied from a file that differs from the one known here.
func (v *versions) ListMigrations(ctx context.Context, db database.DBTxConn) ([]*database.ListMigrationsResult, error) {
	rows, err := db.QueryContext(ctx, `SELECT version, checksum FROM `+v.Tablename()+` ORDER BY version DESC`)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var list []*database.ListMigrationsResult
	for rows.Next() {
		var version int64
		var checksum string
		if err := rows.Scan(&version, &checksum); err != nil {
			return nil, err
		}
		if m, ok := v.known[version]; ok && m.checksum != checksum {
			return nil, checksumMismatch(v.schema, m)
		}
		list = append(list, &database.ListMigrationsResult{Version: version, IsApplied: true})
	}
	return list, rows.Err()
}

func checksumMismatch(schema string, m migration) error {
	return &SchemaError{SchemaChanged, fmt.Sprintf("migration %s of schema %s differs from the one that was applied", m.name, schema)}
}
