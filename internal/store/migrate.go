package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/oncehook/oncehook"
)

const ownSchema = "oncehook"

// migrateLock is the advisory lock that makes concurrent migrations take turns.
const migrateLock int64 = 0x6f6e6365686f6f6b

// lockAgain is how often a migration that waits for another asks for the lock.
const lockAgain = 50 * time.Millisecond

var schemaName = regexp.MustCompile(`^[a-z_][a-z0-9_]{0,62}$`)

// Migrate brings the schema to this binary's version, stores what identifies
// the installation, gives its roles (MakeRoles), if it has any, what this version
// declares, and makes the partitions of the coming days. It is safe to call from
// several processes at once, and again. It refuses, with a *SchemaError, a changed
// migration and another installation's identity key.
func Migrate(ctx context.Context, o Options) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	files, list, err := ownMigrations()
	if err != nil {
		return err
	}
	pool, err := migratePool(o, ownSchema)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := migrateSchema(ctx, o, pool, ownSchema, files, list); err != nil {
		return err
	}
	if err := keepIdentity(ctx, pool, o.Keyring.Identity()); err != nil {
		return err
	}
	return preparePartitions(ctx, pool, o.Now())
}

// MigrateBusiness brings a business schema, such as "logistics", to the newest
// of its migrations, which files holds at its root. They run with the schema
// as search_path and are recorded in its own schema_versions.
func MigrateBusiness(ctx context.Context, o Options, schema string, files fs.FS) error {
	o, err := o.withDefaults()
	if err != nil {
		return err
	}
	if !schemaName.MatchString(schema) || schema == ownSchema {
		return fmt.Errorf("%q cannot be a business schema", schema)
	}
	list, err := readMigrations(files)
	if err != nil {
		return err
	}
	pool, err := migratePool(o, schema)
	if err != nil {
		return err
	}
	defer pool.Close()
	return migrateSchema(ctx, o, pool, schema, files, list)
}

func migratePool(o Options, schema string) (*pgxpool.Pool, error) {
	o.Conns = 4
	config, err := poolConfig(o, migrateSession)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{schema}.Sanitize() + ", pg_temp"
	return pgxpool.NewWithConfig(context.Background(), config)
}

func migrateSchema(ctx context.Context, o Options, pool *pgxpool.Pool, schema string, files fs.FS, list []migration) (failed error) {
	unlock, err := lockMigrations(ctx, pool)
	if err != nil {
		return fmt.Errorf("wait for other migrations: %w", brief(err))
	}
	defer unlock()
	if err := createSchema(ctx, pool, schema); err != nil {
		return fmt.Errorf("create schema %s: %w", schema, brief(err))
	}
	db := stdlib.OpenDBFromPool(pool)
	defer func() { failed = errors.Join(failed, db.Close()) }()
	provider, err := goose.NewProvider("", db, files,
		goose.WithStore(newVersions(schema, list)),
		goose.WithSlog(o.Log.With("schema", schema)),
		goose.WithDisableGlobalRegistry(true))
	if err != nil {
		return fmt.Errorf("migrations of schema %s: %w", schema, err)
	}
	results, err := provider.Up(ctx)
	if unusable, ok := errors.AsType[*SchemaError](err); ok {
		return unusable
	}
	if err != nil {
		return fmt.Errorf("migrate schema %s: %w", schema, brief(err))
	}
	for _, r := range results {
		o.Log.Info("migration applied", "schema", schema, "version", r.Source.Version, "duration", r.Duration)
	}
	if err := grantRemembered(ctx, o, pool, schema); err != nil {
		return fmt.Errorf("grant the roles their privileges in schema %s: %w", schema, brief(err))
	}
	return nil
}

// lockMigrations waits its turn, on a session of its own that holds the lock
// until unlock is called or the process dies. It is outside goose, whose own
// lock comes after its first look at the version table. It asks again and again:
// a statement that waited would hold a snapshot, for which an index that is made
// concurrently waits in turn.
func lockMigrations(ctx context.Context, pool *pgxpool.Pool) (unlock func(), err error) {
	conn, err := pool.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	for locked := false; !locked && err == nil; {
		if err = conn.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, migrateLock).Scan(&locked); locked || err != nil {
			break
		}
		select {
		case <-ctx.Done():
			err = ctx.Err()
		case <-time.After(lockAgain):
		}
	}
	if err != nil {
		conn.Release()
		return nil, err
	}
	return func() {
		// The end of the session is the end of its lock.
		_ = conn.Hijack().Close(context.WithoutCancel(ctx))
	}, nil
}

// createSchema asks first, since CREATE needs a privilege even when there is nothing to do.
func createSchema(ctx context.Context, pool *pgxpool.Pool, schema string) error {
	var exists bool
	if err := pool.QueryRow(ctx, `SELECT to_regnamespace($1) IS NOT NULL`, schema).Scan(&exists); err != nil || exists {
		return err
	}
	_, err := pool.Exec(ctx, `CREATE SCHEMA `+pgx.Identifier{schema}.Sanitize())
	return err
}

// keepIdentity stores the identity key's check value once and compares it afterwards.
func keepIdentity(ctx context.Context, pool *pgxpool.Pool, identity oncehook.Identity) error {
	_, err := pool.Exec(ctx, `INSERT INTO oncehook.installation (identity_check) VALUES ($1) ON CONFLICT DO NOTHING`, identity.CheckValue())
	if err != nil {
		return fmt.Errorf("store the identity check value: %w", err)
	}
	return checkIdentity(ctx, pool, identity)
}

func checkIdentity(ctx context.Context, pool *pgxpool.Pool, identity oncehook.Identity) error {
	var stored []byte
	err := pool.QueryRow(ctx, `SELECT identity_check FROM oncehook.installation`).Scan(&stored)
	if err != nil && !errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("read the identity check value: %w", err)
	}
	return compareIdentity(stored, identity)
}
