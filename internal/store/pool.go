package store

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// session is a role's limits on its own sessions. PostgreSQL enforces them, so
// they hold even when this process is paused.
type session struct {
	statement, lock, idle time.Duration
}

// The ingress's limits end a call before its senders give up; an effect's idle
// limit ends a paused attempt and frees its rows.
var (
	ingressSession = session{statement: 3 * time.Second, lock: time.Second, idle: 3 * time.Second}
	workSession    = session{statement: 30 * time.Second, lock: 10 * time.Second, idle: 30 * time.Second}
	adminSession   = session{statement: 10 * time.Second, lock: 2 * time.Second, idle: 10 * time.Second}
	migrateSession = session{lock: 30 * time.Second}
)

const (
	connectTimeout = 3 * time.Second
	// tcpUserTimeout bounds how long unacknowledged bytes keep a dead connection.
	tcpUserTimeout = 5 * time.Second
	keepAliveIdle  = 5 * time.Second
	keepAliveEvery = 2 * time.Second
	keepAliveCount = 3
	// statementMargin is how much later than lock_timeout a statement ends, and
	// how much later than the server the client gives up: the server speaks first.
	statementMargin = 2 * time.Second
)

// poolConfig reads the URL and adds what the role's sessions need. Its errors
// do not repeat the URL, which holds a password.
func poolConfig(o Options, s session) (*pgxpool.Config, error) {
	config, err := pgxpool.ParseConfig(o.URL)
	if err != nil {
		return nil, errors.New("the database URL cannot be parsed")
	}
	conn := config.ConnConfig
	params := conn.RuntimeParams
	set := func(name, value string) {
		if _, given := params[name]; !given {
			params[name] = value
		}
	}
	set("application_name", o.ApplicationName)
	set("lock_timeout", milliseconds(s.lock))
	if lock, ok := timeout(params["lock_timeout"]); ok && s.statement > 0 {
		s.statement = max(s.statement, lock+statementMargin)
	}
	set("statement_timeout", milliseconds(s.statement))
	set("idle_in_transaction_session_timeout", milliseconds(s.idle))
	set("tcp_user_timeout", milliseconds(tcpUserTimeout))
	set("tcp_keepalives_idle", seconds(keepAliveIdle))
	set("tcp_keepalives_interval", seconds(keepAliveEvery))
	set("tcp_keepalives_count", strconv.Itoa(keepAliveCount))
	set("jit", "off") // statements here are short: compiling one costs more than running it
	params["TimeZone"] = "UTC"
	params["search_path"] = "oncehook, pg_temp"
	if conn.ConnectTimeout == 0 {
		conn.ConnectTimeout = connectTimeout
	}
	conn.DialFunc = dialer(conn.ConnectTimeout).DialContext
	config.MaxConns = int32(min(o.Conns, 1000)) //nolint:gosec // bounded here
	config.PingTimeout = connectTimeout
	config.HealthCheckPeriod = 15 * time.Second
	return config, nil
}

func dialer(timeout time.Duration) *net.Dialer {
	return &net.Dialer{
		Timeout: timeout,
		KeepAliveConfig: net.KeepAliveConfig{
			Enable: true, Idle: keepAliveIdle, Interval: keepAliveEvery, Count: keepAliveCount,
		},
		Control: setUserTimeout,
	}
}

// openPool makes a pool that connects when it is first used, over lines.
func openPool(o Options, s session, over *lines) (*pgxpool.Pool, error) {
	config, err := poolConfig(o, s)
	if err != nil {
		return nil, err
	}
	config.ConnConfig.DialFunc = over.dial(config.ConnConfig.DialFunc)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		return nil, fmt.Errorf("make a connection pool: %w", err)
	}
	return pool, nil
}

// patience is how long a client waits for one statement of the pool: longer than
// the server lets it run. Without a limit there, it is that of a long outage.
func patience(pool *pgxpool.Pool) time.Duration {
	if limit, ok := timeout(pool.Config().ConnConfig.RuntimeParams["statement_timeout"]); ok {
		return limit + statementMargin
	}
	return time.Hour
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

func seconds(d time.Duration) string { return strconv.FormatInt(int64(d/time.Second), 10) }
