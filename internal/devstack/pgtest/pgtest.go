// Package pgtest gives tests real PostgreSQL databases: one temporary server per test binary, started when a test
// first asks for it, and a fresh database per test.
//
//	func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }
//
//	func TestSomething(t *testing.T) {
//		url := pgtest.Template(t, "store", store.MigrateURL)
//		…
//	}
//
// The server does not survive a crash of the machine (fsync is off): tests of durability use devstack itself.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oncehook/oncehook/internal/devstack"
)

// cluster is the server of this test binary. Tests reach it through *testing.T only, hence the package variable.
var cluster sharedServer

type sharedServer struct {
	mu        sync.Mutex
	running   bool // between the begin and the end of Run
	dir       string
	lock      *dirLock
	server    *devstack.Postgres
	err       error
	databases int
	templates map[string]*template
}

// Run runs the tests of a package and then stops the server and deletes its files. TestMain passes its result to
// os.Exit.
func Run(m *testing.M) int {
	cluster.mu.Lock()
	cluster.running = true
	cluster.mu.Unlock()
	code := m.Run()
	if err := cluster.stop(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// Server returns the test binary's server, started at the first call. It is shared: tests that stop, crash or
// reconfigure a server start their own by devstack.StartPostgres.
func Server(t testing.TB) *devstack.Postgres {
	t.Helper()
	cluster.mu.Lock()
	defer cluster.mu.Unlock()
	if !cluster.running {
		t.Fatal("pgtest: call pgtest.Run from this package's TestMain")
	}
	if cluster.server == nil && cluster.err == nil {
		cluster.err = cluster.start()
	}
	if cluster.err != nil {
		t.Fatalf("pgtest: %v", cluster.err)
	}
	return cluster.server
}

func (c *sharedServer) start() error {
	base := scratch()
	sweep(base)
	dir, err := os.MkdirTemp(base, dirPrefix)
	if err != nil {
		return err
	}
	c.dir = dir
	// The server may run as another user, who must be able to enter.
	if err := os.Chmod(dir, 0o755); err != nil {
		return err
	}
	if c.lock, err = lockDir(dir); err != nil {
		return err
	}
	var progress strings.Builder
	c.server, err = devstack.StartPostgres(context.Background(), devstack.PostgresConfig{
		Dir:     filepath.Join(dir, "postgres"),
		NoFsync: true,
		Settings: map[string]string{
			"max_connections":      "300",
			"shared_buffers":       "32MB",
			"max_wal_size":         "256MB",
			"max_parallel_workers": "0",
			// Shared memory as files of the cluster, which go with it however it ends.
			"dynamic_shared_memory_type": "mmap",
		},
		Progress: func(line string) { fmt.Fprintln(&progress, line) },
	})
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(dir, "postgres", "postgres.log"))
		return fmt.Errorf("%w\n%s%s", err, progress.String(), log)
	}
	return nil
}

func (c *sharedServer) stop() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running = false
	if c.server != nil {
		// Nobody needs the data again, so there is no reason to let the server write it out.
		if err := c.server.Remove(); err != nil {
			return err
		}
		c.server = nil
	}
	if c.dir == "" {
		return nil
	}
	err := os.RemoveAll(c.dir)
	if c.lock != nil {
		c.lock.release()
	}
	return err
}

// timeout bounds every statement this package runs on its own behalf.
const timeout = time.Minute
