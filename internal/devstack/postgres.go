package devstack

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

const (
	superuser     = "postgres"
	postgresReady = 60 * time.Second
	// postgresPatience is how long a start is tried again after a failure that passes.
	postgresPatience = 10 * time.Second
)

// PostgresConfig says which PostgreSQL server StartPostgres runs.
type PostgresConfig struct {
	// Dir keeps the data, the log and the superuser's password between starts. It is made when missing. A second
	// server on the same folder is refused.
	Dir string
	// Port of 127.0.0.1 to listen on; 0 takes a free one.
	Port int
	// Database is created at the first start, beside "postgres"; empty makes none.
	Database string
	// NoInstall refuses to install or download PostgreSQL when the machine has none.
	NoInstall bool
	// NoFsync trades durability for speed. For tests that do not crash anything.
	NoFsync bool
	// Settings override the server's, by name.
	Settings map[string]string
	// Progress is told what takes time and what is unusual; nil tells nobody.
	Progress func(string)

	search *binarySearch // nil: the machine's usual places
}

// Postgres is a running server that belongs to this process.
type Postgres struct {
	port     int
	password string
	home     clusterHome
	bin      binaries
	process  *process
	lock     *fileLock
}

// StartPostgres finds or installs PostgreSQL 15 or newer, initializes Dir at its first use, stops the orphan of a
// killed earlier run, and returns once the server accepts connections. The end of ctx stops the start, not a server
// that has started. Every error says in one line what to do.
//
// A new cluster has data checksums, UTF-8 and the C locale, listens on loopback TCP alone and admits its one superuser
// by a random password (SCRAM). When this process is root, the server runs as the user postgres; data that this user
// could not reach is then kept under /var/lib/oncehook-dev.
func StartPostgres(ctx context.Context, cfg PostgresConfig) (*Postgres, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	dir, err := filepath.Abs(cfg.Dir)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for PostgreSQL: %w", err)
	}
	lock, err := tryLock(filepath.Join(dir, "lock"))
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("PostgreSQL of %s is in use: stop the other process or choose another folder: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	p, err := startPostgres(ctx, cfg, dir)
	if err != nil {
		lock.release()
		return nil, err
	}
	p.lock = lock
	return p, nil
}

func startPostgres(ctx context.Context, cfg PostgresConfig, dir string) (*Postgres, error) {
	home, err := locateCluster(dir)
	if err != nil {
		return nil, err
	}
	bin, err := findOrInstall(ctx, cfg, home)
	if err != nil {
		return nil, err
	}
	// After an installation: that is what makes the user postgres.
	if home, err = home.settle(cfg.Progress); err != nil {
		return nil, err
	}
	if err := stopOrphanedPostmaster(ctx, home.data, cfg.Progress); err != nil {
		return nil, err
	}
	password, err := ensureCluster(ctx, cfg, home, bin)
	if err != nil {
		return nil, err
	}
	if cfg.Port != 0 {
		if err := checkPort(cfg.Port, "PostgreSQL"); err != nil {
			return nil, err
		}
	}
	p := &Postgres{home: home, bin: bin, password: password}
	deadline := time.Now().Add(postgresPatience)
	return p, poll(ctx, 100*time.Millisecond, func() (bool, error) {
		if p.port = cfg.Port; p.port == 0 {
			if p.port, err = FreePort(); err != nil {
				return false, err
			}
		}
		p.process, err = runPostmaster(ctx, cfg, home, bin, p.port)
		passing := errors.Is(err, errPortLost) && cfg.Port == 0 || errors.Is(err, errDataInUse)
		if passing && time.Now().Before(deadline) {
			return false, nil
		}
		return err == nil, err
	})
}

// URL is the connection string of a database, as the superuser. It holds the password.
func (p *Postgres) URL(database string) string {
	u := url.URL{
		Scheme:   "postgres",
		User:     url.UserPassword(superuser, p.password),
		Host:     net.JoinHostPort(loopback, strconv.Itoa(p.port)),
		Path:     "/" + database,
		RawQuery: "sslmode=disable",
	}
	return u.String()
}

// Port is the TCP port of 127.0.0.1 the server listens on.
func (p *Postgres) Port() int { return p.port }

// Pid is the process id of the postmaster.
func (p *Postgres) Pid() int { return p.process.pid() }

// LogFile is the path of the server's log.
func (p *Postgres) LogFile() string { return filepath.Join(p.home.dir, postgresLog) }

// Done is closed when the server is gone, for whatever reason.
func (p *Postgres) Done() <-chan struct{} { return p.process.done }

// Stop shuts the server down: sessions are ended and the data is left clean. When ctx ends first, the server leaves at
// once and recovers at its next start. A stopped server may be stopped again.
func (p *Postgres) Stop(ctx context.Context) error {
	defer p.lock.release()
	return p.process.stop(ctx,
		stopStep{signal: syscall.SIGINT, grace: 30 * time.Second}, // fast shutdown
		stopStep{signal: syscall.SIGQUIT, grace: 5 * time.Second}, // immediate shutdown
	)
}

// Kill ends the postmaster and all its children by SIGKILL, as a crash of the machine's memory would: nothing is
// flushed, nobody is told. StartPostgres on the same folder then recovers.
func (p *Postgres) Kill() error {
	defer p.lock.release()
	if p.process.exited() {
		return nil
	}
	// Stopped, the postmaster cannot fork a child that the list would miss. Backends have sessions, so process
	// groups, of their own.
	if err := p.process.signal(syscall.SIGSTOP); err != nil {
		return err
	}
	children, listErr := childrenOf(p.Pid())
	if err := p.process.kill(); err != nil {
		return err
	}
	for _, child := range children {
		if err := syscall.Kill(child, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("kill process %d: %w", child, err)
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	return errors.Join(listErr, poll(ctx, 5*time.Millisecond, func() (bool, error) {
		for _, child := range children {
			if alive(child) {
				return false, nil
			}
		}
		return true, nil
	}))
}

// Remove ends the server and deletes its folder and its data, wherever that was put, and its shared memory.
func (p *Postgres) Remove() error {
	defer p.lock.release()
	err := p.process.stop(context.Background(), stopStep{signal: syscall.SIGQUIT, grace: 5 * time.Second})
	if _, statErr := os.Stat(filepath.Join(p.home.data, postmasterPIDFile)); statErr == nil {
		p.reclaim()
	}
	if parent := filepath.Dir(p.home.data); parent != p.home.dir {
		err = errors.Join(err, os.RemoveAll(parent))
	}
	return errors.Join(err, os.RemoveAll(p.home.dir))
}

// reclaim frees the shared memory of a server that was killed: it would stay until the machine's restart, and the next
// start on the data, which frees it too, does not come. A server in single-user mode that is asked nothing does the
// same. What it cannot free is a few hundred kilobytes, so a failure is no error.
func (p *Postgres) reclaim() {
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	_ = p.home.command(ctx, p.bin.postgres(), "--single", "-D", p.home.data, "-c", "fsync=off", "postgres").Run()
}
