package store

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/oncehook/oncehook"
)

// Examination is a connection of one login, for questions about the database that
// only a person asks.
type Examination struct {
	pool *pgxpool.Pool
	now  func() time.Time
}

// Examine connects as the options' URL says, once. Its errors hold no password.
func Examine(ctx context.Context, o Options) (*Examination, error) {
	if o.URL == "" {
		return nil, errors.New("the database URL is empty")
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.ApplicationName == "" {
		o.ApplicationName = "oncehook"
	}
	o.Conns = 1
	pool, err := openPool(o, adminSession, newLines())
	if err != nil {
		return nil, err
	}
	if err := pool.Ping(ctx); err != nil {
		pool.Close()
		return nil, connecting(err)
	}
	return &Examination{pool: pool, now: o.Now}, nil
}

// connecting keeps of a failed connection what the server said, or the network.
func connecting(err error) error {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return brief(refused)
	}
	for next := errors.Unwrap(err); next != nil; next = errors.Unwrap(next) {
		err = next
	}
	// Each address, and each kind of encryption, was tried.
	tries, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return err
	}
	var said []string
	for _, try := range tries.Unwrap() {
		if text := try.Error(); !slices.Contains(said, text) {
			said = append(said, text)
		}
	}
	return errors.New(strings.Join(said, "; "))
}

// Close ends the connection.
func (e *Examination) Close() { e.pool.Close() }

// facts asks as the roles do for what they measure.
func (e *Examination) facts() *role { return &role{pool: e.pool, now: e.now} }

// PartitionDays is the roles' own count.
func (e *Examination) PartitionDays(ctx context.Context) (int64, error) {
	return e.facts().PartitionDays(ctx)
}

// Backlog is the roles' own count.
func (e *Examination) Backlog(ctx context.Context) (Backlog, error) { return e.facts().Backlog(ctx) }

// LastSweep is the roles' own answer.
func (e *Examination) LastSweep(ctx context.Context) (time.Duration, bool, error) {
	return e.facts().LastSweep(ctx)
}

// KeysSince returns when each key of the keyset was first seen, by its name.
func (e *Examination) KeysSince(ctx context.Context) (map[string]time.Time, error) {
	since := map[string]time.Time{}
	var name string
	var at time.Time
	rows, _ := e.pool.Query(ctx, `SELECT key, first_seen_at FROM oncehook.key_uses`)
	if _, err := pgx.ForEachRow(rows, []any{&name, &at}, func() error {
		since[name] = at
		return nil
	}); err != nil {
		return nil, fmt.Errorf("read when the keys were first seen: %w", brief(err))
	}
	return since, nil
}

// ServerFacts is what a server and a login say of themselves.
type ServerFacts struct {
	Version string
	// Major is the version's first number, such as 15.
	Major     int
	Database  string
	Login     string
	Superuser bool
	// ConnectionLimit bounds the login's connections; -1 is no bound.
	ConnectionLimit int
	// Encrypted says that the connection uses TLS; Local that it stays on this machine.
	Encrypted, Local bool
	// Standby says that the server is a read-only copy.
	Standby  bool
	Encoding string
	// Connections are those of all logins now, out of Room.
	Connections, Room int
	// Settings are those of this login's session.
	Settings map[string]string
	// Ahead is how far the database's clock is ahead of this process's, within Precision.
	Ahead, Precision time.Duration
}

// examinedSettings are those on which a promise or the rate depends.
var examinedSettings = []string{
	"fsync", "full_page_writes", "synchronous_commit", "autovacuum", "default_transaction_isolation", "default_transaction_read_only",
}

// Server asks the server about itself.
func (e *Examination) Server(ctx context.Context) (ServerFacts, error) {
	f := ServerFacts{Settings: map[string]string{}}
	var version int
	err := e.pool.QueryRow(ctx, `
		SELECT current_setting('server_version'), current_setting('server_version_num')::int, current_database()::text, current_user::text,
			r.rolsuper, r.rolconnlimit, coalesce((SELECT s.ssl FROM pg_stat_ssl s WHERE s.pid = pg_backend_pid()), false),
			coalesce(inet_client_addr() <<= '127.0.0.0/8' OR inet_client_addr() = '::1' OR inet_client_addr() = inet_server_addr(), true),
			pg_is_in_recovery(), current_setting('server_encoding'),
			(SELECT coalesce(sum(numbackends), 0) FROM pg_stat_database)::int,
			current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
		FROM pg_roles r WHERE r.rolname = current_user`).
		Scan(&f.Version, &version, &f.Database, &f.Login, &f.Superuser, &f.ConnectionLimit, &f.Encrypted, &f.Local, &f.Standby, &f.Encoding,
			&f.Connections, &f.Room)
	if err != nil {
		return ServerFacts{}, fmt.Errorf("ask the server about itself: %w", brief(err))
	}
	f.Major = version / 10000
	for _, name := range examinedSettings {
		var value string
		if err := e.pool.QueryRow(ctx, `SELECT current_setting($1)`, name).Scan(&value); err != nil {
			return ServerFacts{}, fmt.Errorf("ask for the setting %s: %w", name, brief(err))
		}
		f.Settings[name] = value
	}
	before := e.now()
	var there time.Time
	if err := e.pool.QueryRow(ctx, `SELECT clock_timestamp()`).Scan(&there); err != nil {
		return ServerFacts{}, fmt.Errorf("ask for the time: %w", brief(err))
	}
	took := e.now().Sub(before)
	f.Ahead, f.Precision = there.Sub(before.Add(took/2)), took/2
	return f, nil
}

// Schema is CheckSchema for this connection. Without an identity the
// installation's is not compared.
func (e *Examination) Schema(ctx context.Context, identity *oncehook.Identity) error {
	_, known, err := ownMigrations()
	if err != nil {
		return err
	}
	applied, check, err := askSchema(ctx, e.pool)
	if err != nil {
		return err
	}
	if err := compareVersions(known, applied); err != nil || identity == nil {
		return err
	}
	return compareIdentity(check, *identity)
}

// SchemaExists reports whether anything was migrated. It needs no grant.
func (e *Examination) SchemaExists(ctx context.Context) (bool, error) {
	var exists bool
	if err := e.pool.QueryRow(ctx, `
		SELECT EXISTS (SELECT FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
			WHERE n.nspname = $1 AND c.relname = 'schema_versions')`, ownSchema).Scan(&exists); err != nil {
		return false, fmt.Errorf("ask whether the schema exists: %w", brief(err))
	}
	return exists, nil
}

// Processes returns the ids of the processes that told of themselves within a day,
// running or not. It needs the owner's login.
func (e *Examination) Processes(ctx context.Context) ([]string, error) {
	rows, _ := e.pool.Query(ctx, `SELECT DISTINCT process::text FROM oncehook.key_reports`)
	processes, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return nil, fmt.Errorf("read which processes there are: %w", brief(err))
	}
	return processes, nil
}

// Installed reports whether the database belongs to an installation: one whose
// identity key cannot be made again.
func (e *Examination) Installed(ctx context.Context) (bool, error) {
	exists, err := e.SchemaExists(ctx)
	if err != nil || !exists {
		return false, err
	}
	_, check, err := askSchema(ctx, e.pool)
	if _, unusable := errors.AsType[*SchemaError](err); unusable {
		return true, nil // what it has cannot be told: it may be an identity
	}
	return check != nil, err
}

// BusinessSchema returns the names of the business schema's migrations that were
// not applied. It needs the owner's login.
func (e *Examination) BusinessSchema(ctx context.Context, schema string, files fs.FS) ([]string, error) {
	list, err := readMigrations(files)
	if err != nil {
		return nil, err
	}
	rows, _ := e.pool.Query(ctx, `SELECT version FROM `+pgx.Identifier{schema, "schema_versions"}.Sanitize())
	applied, err := pgx.CollectRows(rows, pgx.RowTo[int64])
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && (refused.Code == codeUndefinedTable || refused.Code == codeUndefinedSchema) {
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the versions of schema %s: %w", schema, brief(err))
	}
	var missing []string
	for _, m := range list {
		if !slices.Contains(applied, m.version) {
			missing = append(missing, m.name)
		}
	}
	return missing, nil
}
