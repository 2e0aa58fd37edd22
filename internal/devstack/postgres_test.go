package devstack

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// parentOf makes this test binary act as the parent of a server on the folder it names, until it is killed.
const parentOf = "DEVSTACK_TEST_PARENT_OF"

func TestMain(m *testing.M) {
	if dir := os.Getenv(parentOf); dir != "" {
		beParent(dir)
	}
	os.Exit(m.Run())
}

func beParent(dir string) {
	p, err := StartPostgres(context.Background(), PostgresConfig{Dir: dir, NoFsync: true})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(p.Pid())
	select {}
}

// clusterDir is a folder that the user postgres can reach; that of t.TempDir is not.
func clusterDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "devstack-test-")
	require.NoError(t, err)
	require.NoError(t, os.Chmod(dir, 0o755))
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	return filepath.Join(dir, "postgres")
}

func start(t *testing.T, cfg PostgresConfig) *Postgres {
	t.Helper()
	if cfg.Progress == nil {
		cfg.Progress = func(line string) { t.Log(line) }
	}
	p, err := StartPostgres(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, p.Remove()) })
	return p
}

func query[T any](t *testing.T, url, sql string) T {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(context.Background())
	var v T
	require.NoError(t, conn.QueryRow(t.Context(), sql).Scan(&v))
	return v
}

func TestPostgresKeepsDataOverStopAndKill(t *testing.T) {
	dir := clusterDir(t)
	cfg := PostgresConfig{Dir: dir, Database: "oncehook"}
	p := start(t, cfg)
	query[int](t, p.URL("oncehook"), "WITH x AS (SELECT 1 AS n) SELECT n FROM x")
	conn, err := pgx.Connect(t.Context(), p.URL("oncehook"))
	require.NoError(t, err)
	_, err = conn.Exec(t.Context(), "CREATE TABLE kept AS SELECT 42 AS n")
	require.NoError(t, err)
	require.NoError(t, conn.Close(t.Context()))

	require.NoError(t, p.Stop(t.Context()))
	require.NoError(t, p.Stop(t.Context()), "a second stop is no error")
	require.Eventually(t, func() bool { return !alive(p.Pid()) }, time.Second, time.Millisecond)

	p = start(t, cfg)
	require.Equal(t, 42, query[int](t, p.URL("oncehook"), "SELECT n FROM kept"))
	children, err := childrenOf(p.Pid())
	require.NoError(t, err)
	require.NotEmpty(t, children)

	require.NoError(t, p.Kill())
	for _, pid := range append(children, p.Pid()) {
		require.False(t, alive(pid), "process %d survived", pid)
	}
	p = start(t, cfg)
	require.Equal(t, 42, query[int](t, p.URL("oncehook"), "SELECT n FROM kept"))
}

func TestPostgresIsDurableAndGuardedUnlessToldOtherwise(t *testing.T) {
	p := start(t, PostgresConfig{Dir: clusterDir(t), Settings: map[string]string{"max_connections": "33"}})
	for setting, want := range map[string]string{
		"fsync": "on", "synchronous_commit": "on", "full_page_writes": "on", "data_checksums": "on",
		"listen_addresses": "127.0.0.1", "unix_socket_directories": "", "server_encoding": "UTF8",
		"max_connections": "33", "TimeZone": "UTC",
	} {
		require.Equal(t, want, query[string](t, p.URL("postgres"), "SELECT current_setting('"+setting+"')"), setting)
	}
	require.Equal(t, "C", query[string](t, p.URL("postgres"), "SELECT datcollate FROM pg_database WHERE datname = 'postgres'"))

	wrong := strings.Replace(p.URL("postgres"), p.password, "wrong", 1)
	_, err := pgx.Connect(t.Context(), wrong)
	require.ErrorContains(t, err, "password authentication failed")
	info, err := os.Stat(filepath.Join(p.home.dir, passwordFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
}

func TestPostgresRunsAsUserPostgresForRoot(t *testing.T) {
	if os.Geteuid() != 0 {
		require.Nil(t, (*account)(nil).credential(), "others run it themselves")
		return
	}
	// Below a folder that only root can enter.
	private := t.TempDir()
	require.NoError(t, os.Chmod(private, 0o700))
	dir := filepath.Join(private, "postgres")
	var said []string
	cfg := PostgresConfig{Dir: dir, NoFsync: true, Progress: func(line string) { said = append(said, line) }}
	p := start(t, cfg)
	postgres, err := postgresAccount()
	require.NoError(t, err)
	info, err := os.Stat(fmt.Sprintf("/proc/%d", p.Pid()))
	require.NoError(t, err)
	require.Equal(t, postgres.uid, info.Sys().(*syscall.Stat_t).Uid)
	require.True(t, strings.HasPrefix(p.home.data, elsewhereRoot+"/"), p.home.data)
	require.Contains(t, strings.Join(said, "\n"), p.home.data, "the place is announced")
	recorded, err := os.ReadFile(filepath.Join(dir, locationFile))
	require.NoError(t, err)
	require.Equal(t, p.home.data+"\n", string(recorded))

	first := p.home.data
	require.NoError(t, p.Stop(t.Context()))
	p = start(t, cfg)
	require.Equal(t, first, p.home.data, "the recorded place is used again")
	require.NoError(t, p.Stop(t.Context()))

	// Whoever deletes the folder starts anew: the old data has lost its password.
	require.NoError(t, os.RemoveAll(dir))
	p = start(t, cfg)
	require.DirExists(t, filepath.Join(filepath.Dir(first), "data.previous"))
	require.Equal(t, 1, query[int](t, p.URL("postgres"), "SELECT 1"))

	require.NoError(t, p.Remove())
	require.NoDirExists(t, dir)
	require.NoDirExists(t, filepath.Dir(first))
}

func TestOnlyTemporaryDataIsSweptFromElsewhere(t *testing.T) {
	root, existing := t.TempDir(), t.TempDir()
	for name, wanted := range map[string]string{
		"ended": filepath.Join(os.TempDir(), "no-such-test", "postgres"), "running": existing, "home": "/no-such-home/.dev/postgres",
	} {
		write(t, filepath.Join(root, name, wantedFile), wanted+"\n")
	}
	sweepElsewhere(root)
	require.NoDirExists(t, filepath.Join(root, "ended"))
	require.DirExists(t, filepath.Join(root, "running"))
	require.DirExists(t, filepath.Join(root, "home"))
}

func TestPostgresOrphanOfAKilledParentDoesNotBlock(t *testing.T) {
	dir := clusterDir(t)
	parent := exec.Command(os.Args[0])
	parent.Env = append(os.Environ(), parentOf+"="+dir)
	parent.Stderr = os.Stderr
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	orphan, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)

	_, err = StartPostgres(t.Context(), PostgresConfig{Dir: dir})
	require.ErrorIs(t, err, errLocked, "while the parent lives its folder is refused")
	require.ErrorContains(t, err, strconv.Itoa(parent.Process.Pid))
	require.True(t, alive(orphan))

	require.NoError(t, parent.Process.Kill())
	_ = parent.Wait()
	p := start(t, PostgresConfig{Dir: dir, NoFsync: true})
	require.False(t, alive(orphan))
	require.Equal(t, 1, query[int](t, p.URL("postgres"), "SELECT 1"))
}

func TestPostgresStartsAgainRightAfterItsPostmasterWasKilledAlone(t *testing.T) {
	cfg := PostgresConfig{Dir: clusterDir(t), NoFsync: true}
	p := start(t, cfg)
	conn, err := pgx.Connect(t.Context(), p.URL("postgres"))
	require.NoError(t, err)
	defer conn.Close(context.Background())
	// A backend at work notices the death of its postmaster only when it waits for something.
	busy := make(chan struct{})
	go func() {
		defer close(busy)
		_, _ = conn.Exec(context.Background(), "SELECT count(*) FROM generate_series(1, 5000000)")
	}()
	watcher, err := pgx.Connect(t.Context(), p.URL("postgres"))
	require.NoError(t, err)
	defer watcher.Close(context.Background())
	require.Eventually(t, func() bool {
		var n int
		err := watcher.QueryRow(t.Context(), "SELECT count(*) FROM pg_stat_activity WHERE state = 'active' AND query LIKE '%generate_series(1%' AND pid <> pg_backend_pid()").Scan(&n)
		return err == nil && n == 1
	}, 10*time.Second, 5*time.Millisecond)
	require.NoError(t, syscall.Kill(p.Pid(), syscall.SIGKILL))
	<-p.Done()
	require.NoError(t, p.Stop(t.Context()))

	cfg.Port = p.Port()
	again := start(t, cfg)
	require.Equal(t, 1, query[int](t, again.URL("postgres"), "SELECT 1"))
	<-busy
}

func TestPostgresOrphanIsStoppedWhereNothingElseStopsIt(t *testing.T) {
	dir := clusterDir(t)
	cfg := PostgresConfig{Dir: dir, NoFsync: true}
	p := start(t, cfg)
	orphan := p.Pid()
	p.lock.release() // as the kernel does for a dead parent; the server lives on, as without a parent-death signal
	next := start(t, cfg)
	require.False(t, alive(orphan))
	require.Equal(t, 1, query[int](t, next.URL("postgres"), "SELECT 1"))
}

func TestAPidFileThatProvesNothingEndsNothing(t *testing.T) {
	bystander := exec.Command("sleep", "60")
	require.NoError(t, bystander.Start())
	t.Cleanup(func() { _ = bystander.Process.Kill(); _ = bystander.Wait() })
	pid := bystander.Process.Pid
	data := t.TempDir()
	for name, content := range map[string]string{
		"another program":     fmt.Sprintf("%d\n%s\n", pid, data),
		"another data folder": fmt.Sprintf("%d\n/somewhere/else\n", pid),
		"not a pid":           "none\n" + data + "\n",
		"cut short":           fmt.Sprintf("%d", pid),
	} {
		require.NoError(t, os.WriteFile(filepath.Join(data, "postmaster.pid"), []byte(content), 0o600))
		require.NoError(t, stopOrphanedPostmaster(t.Context(), data, func(string) {}), name)
		require.True(t, alive(pid), name)
	}
	own := filepath.Join(data, "pid")
	require.NoError(t, os.WriteFile(own, fmt.Appendf(nil, `{"pid":%d,"start":"another start"}`, pid), 0o600))
	found, err := orphanIn(own)
	require.NoError(t, err)
	require.Zero(t, found)
	require.NoError(t, writePIDFile(own, pid))
	found, err = orphanIn(own)
	require.NoError(t, err)
	require.Equal(t, pid, found)
}

func TestPostgresErrorsSayInOneLineWhatToDo(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	otherVersion := clusterDir(t)
	require.NoError(t, os.MkdirAll(filepath.Join(otherVersion, "data"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(otherVersion, "data", "PG_VERSION"), []byte("9\n"), 0o644))

	for name, c := range map[string]struct {
		cfg  PostgresConfig
		says []string
	}{
		"no binaries": {
			PostgresConfig{Dir: clusterDir(t), NoInstall: true, search: &binarySearch{}},
			[]string{"install the package postgresql", "ONCEHOOK_DATABASE_URL"},
		},
		"port taken": {
			PostgresConfig{Dir: clusterDir(t), NoFsync: true, Port: taken.Addr().(*net.TCPAddr).Port},
			[]string{"is taken", "choose another"},
		},
		"data of another version": {
			PostgresConfig{Dir: otherVersion},
			[]string{"was made by PostgreSQL 9", "install 9 or choose another folder"},
		},
		"impossible setting": {
			PostgresConfig{Dir: clusterDir(t), NoFsync: true, Settings: map[string]string{"max_connections": "none"}},
			[]string{`invalid value for parameter "max_connections"`, postgresLog},
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := StartPostgres(t.Context(), c.cfg)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "\n")
			for _, part := range c.says {
				require.ErrorContains(t, err, part)
			}
			again, err := tryLock(filepath.Join(c.cfg.Dir, "lock"))
			require.NoError(t, err, "a failed start gives its lock back")
			again.release()
		})
	}
}

func TestPostgresStartEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := StartPostgres(ctx, PostgresConfig{Dir: clusterDir(t), NoFsync: true, Progress: func(string) {
		cancel(errors.New("user gave up"))
	}})
	require.Error(t, err)
}
