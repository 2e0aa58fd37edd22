package store

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oncehook/oncehook"
)

// SchemaError says why the database's schema is unusable for this binary.
type SchemaError struct{ Reason string }

func (e *SchemaError) Error() string { return "schema unusable: " + e.Reason }

// MigrationState is one migration as the database and this binary know it.
type MigrationState struct {
	Version    int64
	Name       string
	Applied    bool
	AppliedAt  time.Time
	ServesFrom int64
}

// Migrate brings the schema to this binary's version.
func Migrate(context.Context, Options) error { return errors.ErrUnsupported }

// MigrateBusiness brings a business schema to the version of its migrations.
func MigrateBusiness(context.Context, Options, string, fs.FS) error { return errors.ErrUnsupported }

// MigrationStatus lists the migrations.
func MigrationStatus(context.Context, Options) ([]MigrationState, error) {
	return nil, errors.ErrUnsupported
}

// CheckSchema returns a *SchemaError when the schema is unusable.
func CheckSchema(context.Context, *pgxpool.Pool, oncehook.Identity) error {
	return errors.ErrUnsupported
}

// PreparePartitions makes the partitions of the coming days.
func (s *Work) PreparePartitions(context.Context) error { return errors.ErrUnsupported }
