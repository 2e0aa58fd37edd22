package main

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.temporal.io/server/common/headers"
	"go.temporal.io/server/common/persistence/sql/sqlplugin"
	sqliteschema "go.temporal.io/server/schema/sqlite"
	_ "modernc.org/sqlite"
)

// The server sets its schema up once and never migrates a SQLite file, so a file belongs
// to one server version. This table of ours in the file says to which.
const createVersionTable = `CREATE TABLE temporal_dev (server_version TEXT NOT NULL, created_at TEXT NOT NULL)`

// prepareDatabase makes a file that checkFile let pass ready for the server. It creates the
// schema in a new file, in one transaction, so that a kill leaves either nothing or a whole
// schema, and refuses a file that is not ours, of another server version, or not writable;
// such a file keeps its content.
func prepareDatabase(ctx context.Context, filename string) error {
	db, err := sql.Open("sqlite", "file:"+sqlitePath(filename)+"?mode=rwc&_pragma=busy_timeout=5000")
	if err != nil {
		return fmt.Errorf("open database file %s: %w", filename, err)
	}
	defer func() { _ = db.Close() }()
	// Pragmas belong to a connection.
	db.SetMaxOpenConns(1)

	fresh, err := checkVersion(ctx, db, filename)
	if err != nil {
		return err
	}
	for _, pragma := range []string{"PRAGMA journal_mode=wal", "PRAGMA synchronous=2"} {
		if _, err := db.ExecContext(ctx, pragma); err != nil {
			return fmt.Errorf("database file %s is not writable: %w", filename, err)
		}
	}
	if fresh {
		return createSchema(ctx, db, filename)
	}
	return checkWritable(ctx, db, filename)
}

// checkFile refuses what SQLite would misread or overwrite. A missing or empty file is fine.
func checkFile(filename string) error {
	if dir := filepath.Dir(filename); !isDir(dir) {
		return fmt.Errorf("database file %s: %s is not a directory", filename, dir)
	}
	info, err := os.Stat(filename)
	if err == nil && !info.Mode().IsRegular() {
		return fmt.Errorf("database file %s is not a regular file", filename)
	}
	file, err := os.OpenFile(filename, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("database file is not writable: %w", err)
	}
	defer func() { _ = file.Close() }()
	magic := []byte("SQLite format 3\x00")
	head := make([]byte, len(magic))
	n, err := io.ReadFull(file, head)
	switch {
	case errors.Is(err, io.EOF):
		return nil
	case err != nil && !errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("read database file: %w", err)
	case !bytes.Equal(head[:n], magic):
		return fmt.Errorf("database file %s is not a SQLite database", filename)
	}
	return nil
}

func isDir(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}

// checkVersion reports whether the file is a database without any table yet, and refuses
// one with tables that this server version did not make.
func checkVersion(ctx context.Context, db *sql.DB, filename string) (fresh bool, err error) {
	var tables, ours int
	err = db.QueryRowContext(ctx,
		`SELECT count(*), count(*) FILTER (WHERE type = 'table' AND name = 'temporal_dev') FROM sqlite_master`,
	).Scan(&tables, &ours)
	if err != nil {
		return false, fmt.Errorf("read database file %s: %w", filename, err)
	}
	if tables == 0 {
		return true, nil
	}
	if ours == 0 {
		return false, fmt.Errorf("database file %s was not made by temporal-dev; choose another with --db-filename", filename)
	}
	var version string
	if err := db.QueryRowContext(ctx, `SELECT server_version FROM temporal_dev`).Scan(&version); err != nil {
		return false, fmt.Errorf("read server version of database file %s: %w", filename, err)
	}
	if version != headers.ServerVersion {
		return false, fmt.Errorf("database file %s was made by server %s, this is server %s; choose another with --db-filename or remove it",
			filename, version, headers.ServerVersion)
	}
	return false, nil
}

// schemaTarget lets the server's own schema statements run inside our transaction.
type schemaTarget struct {
	sqlplugin.AdminDB
	tx *sql.Tx
}

func (s schemaTarget) Exec(statement string, args ...any) error {
	_, err := s.tx.Exec(statement, args...)
	return err
}

func createSchema(ctx context.Context, db *sql.DB, filename string) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("create schema in %s: %w", filename, err)
	}
	defer func() { _ = tx.Rollback() }()
	if err := sqliteschema.SetupSchemaOnDB(schemaTarget{tx: tx}); err != nil {
		return fmt.Errorf("create schema in %s: %w", filename, err)
	}
	if _, err := tx.ExecContext(ctx, createVersionTable); err != nil {
		return fmt.Errorf("create schema in %s: %w", filename, err)
	}
	if _, err := tx.ExecContext(ctx, `INSERT INTO temporal_dev VALUES (?, ?)`,
		headers.ServerVersion, time.Now().UTC().Format(time.RFC3339)); err != nil {
		return fmt.Errorf("create schema in %s: %w", filename, err)
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("create schema in %s: %w", filename, err)
	}
	return nil
}

// checkWritable takes and drops the write lock, which fails on a read-only file or folder.
func checkWritable(ctx context.Context, db *sql.DB, filename string) error {
	for _, statement := range []string{"BEGIN IMMEDIATE", "ROLLBACK"} {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("database file %s is not writable: %w", filename, err)
		}
	}
	return nil
}

// checkpoint moves the write-ahead log of a stopped server into the file, so that the file
// alone can be copied. Without it nothing is lost: the next start reads the log.
func checkpoint(filename string) {
	db, err := sql.Open("sqlite", "file:"+sqlitePath(filename)+"?mode=rw&_pragma=busy_timeout=500")
	if err != nil {
		return
	}
	defer func() { _ = db.Close() }()
	_, _ = db.Exec("PRAGMA wal_checkpoint(TRUNCATE)")
}

// sqlitePath escapes what has a meaning in a SQLite URI, so that a file is used as named.
func sqlitePath(filename string) string {
	return strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(filepath.ToSlash(filename))
}
