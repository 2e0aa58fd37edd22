package devstack

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	postgresLog       = "postgres.log"
	postmasterPIDFile = "postmaster.pid"
)

var (
	// errPortLost says that the port was free a moment ago and is not any more.
	errPortLost = errors.New("another program took the port")
	// errDataInUse says that children of a killed postmaster have not noticed its death yet.
	errDataInUse = errors.New("processes of a killed server still use the data")
)

// runPostmaster starts the server and waits until it accepts connections.
func runPostmaster(ctx context.Context, cfg PostgresConfig, home clusterHome, bin binaries, port int) (*process, error) {
	args := []string{"-D", home.data, "-p", strconv.Itoa(port)}
	settings := serverSettings(cfg)
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		args = append(args, "-c", name+"="+settings[name])
	}
	logFile := filepath.Join(home.dir, postgresLog)
	logStart := fileSize(logFile)
	proc, err := startProcess(processSpec{
		path: bin.postgres(), args: args, env: postgresEnv(), account: home.account, logFile: logFile,
		deathSignal: syscall.SIGINT, // fast shutdown: the data is left clean
	})
	if err != nil {
		return nil, fmt.Errorf("PostgreSQL did not start: %w", err)
	}
	stopAnnouncing := announceSlow(cfg.Progress, "waiting for PostgreSQL to accept connections")
	defer stopAnnouncing()
	waitCtx, cancel := context.WithTimeout(ctx, postgresReady)
	defer cancel()
	err = poll(waitCtx, 10*time.Millisecond, func() (bool, error) {
		if proc.exited() {
			return false, exitReason(logFile, logStart)
		}
		return isReady(home.data, proc.pid()), nil
	})
	if err != nil {
		_ = proc.stop(context.WithoutCancel(ctx), stopStep{signal: syscall.SIGQUIT, grace: 5 * time.Second})
		return nil, fmt.Errorf("PostgreSQL did not start: %w; its log is %s", err, logFile)
	}
	return proc, nil
}

// serverSettings are durable unless told otherwise, and reachable over loopback TCP only.
func serverSettings(cfg PostgresConfig) map[string]string {
	durable := "on"
	if cfg.NoFsync {
		durable = "off"
	}
	settings := map[string]string{
		"listen_addresses":        loopback,
		"unix_socket_directories": "",
		"fsync":                   durable,
		"synchronous_commit":      durable,
		"full_page_writes":        durable,
		"max_connections":         "200",
		"timezone":                "UTC",
		"log_timezone":            "UTC",
		"logging_collector":       "off",
		"log_destination":         "stderr",
	}
	maps.Copy(settings, cfg.Settings)
	return settings
}

// postmasterPID is what a server writes into postmaster.pid: one value a line.
type postmasterPID struct {
	pid     int
	dataDir string
	status  string // "ready" once it accepts connections
}

func readPostmasterPID(dataDir string) (postmasterPID, bool) {
	raw, err := os.ReadFile(filepath.Join(dataDir, postmasterPIDFile))
	if err != nil {
		return postmasterPID{}, false
	}
	lines := strings.Split(string(raw), "\n")
	if len(lines) < 2 {
		return postmasterPID{}, false
	}
	pid, err := strconv.Atoi(strings.TrimSpace(lines[0]))
	if err != nil {
		return postmasterPID{}, false
	}
	p := postmasterPID{pid: pid, dataDir: lines[1]}
	if len(lines) >= 8 {
		p.status = strings.TrimSpace(lines[7])
	}
	return p, true
}

// isReady reports whether the server with this pid accepts connections, as pg_ctl does.
func isReady(dataDir string, pid int) bool {
	p, ok := readPostmasterPID(dataDir)
	return ok && p.pid == pid && p.status == "ready"
}

// postmasterOf returns the pid of the server that runs on the data folder, 0 when there is none. The pid file must name
// this folder and the process must be a server that works in it: a pid alone proves nothing.
func postmasterOf(dataDir string) int {
	p, ok := readPostmasterPID(dataDir)
	if !ok || p.pid <= 1 || p.dataDir != dataDir || !alive(p.pid) {
		return 0
	}
	resolved, err := filepath.EvalSymlinks(dataDir)
	if err != nil || !isPostmaster(p.pid, resolved) {
		return 0
	}
	return p.pid
}

// stopOrphanedPostmaster ends the server that a killed earlier run left on our data. The caller holds the folder's
// lock, so that run is gone.
func stopOrphanedPostmaster(ctx context.Context, dataDir string, progress func(string)) error {
	pid := postmasterOf(dataDir)
	if pid == 0 {
		return nil
	}
	progress(fmt.Sprintf("stopping the PostgreSQL server (process %d) that an earlier run left behind", pid))
	return stopOrphan(ctx, pid,
		stopStep{signal: syscall.SIGINT, grace: 15 * time.Second},
		stopStep{signal: syscall.SIGQUIT, grace: 5 * time.Second},
	)
}

// exitReason reads why a server that has just ended gave up, from what it added to its log.
func exitReason(logFile string, from int64) error {
	added, err := readFrom(logFile, from)
	if err != nil {
		return errors.New("it ended at once")
	}
	if bytes.Contains(added, []byte("Address already in use")) {
		return errPortLost
	}
	if bytes.Contains(added, []byte("pre-existing shared memory block")) {
		return errDataInUse
	}
	reason := lastLine(added)
	for line := range bytes.Lines(added) {
		if _, fatal, found := bytes.Cut(line, []byte("FATAL:")); found {
			reason = string(bytes.TrimSpace(fatal))
			break
		}
	}
	return fmt.Errorf("it ended at once (%s)", reason)
}

// readFrom reads a file from an offset, or whole when it is shorter: then it was started anew.
func readFrom(path string, offset int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if fileSize(path) >= offset {
		if _, err := f.Seek(offset, io.SeekStart); err != nil {
			return nil, err
		}
	}
	return io.ReadAll(io.LimitReader(f, 1<<20))
}

// fileSize is 0 for a file that does not exist.
func fileSize(path string) int64 {
	info, err := os.Stat(path)
	if err != nil {
		return 0
	}
	return info.Size()
}
