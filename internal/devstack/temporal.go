package devstack

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

const (
	temporalAttempts = 3
	temporalReady    = 60 * time.Second
)

// TemporalConfig says which Temporal development server StartTemporal runs.
type TemporalConfig struct {
	// Binary is temporal-dev (EnsureTemporalDev) or another program that takes "server start-dev".
	Binary string
	// DBFile keeps workflows between starts; empty keeps them in memory. Beside it stand the files of the lock and of
	// the server's pid.
	DBFile string
	// Port and UIPort of 127.0.0.1; 0 takes a free one.
	Port, UIPort int
	// UICodecEndpoint is where the UI's pages have payloads decrypted; empty is nowhere.
	UICodecEndpoint string
	// Headless leaves the UI out.
	Headless bool
	// Namespace exists when the server is ready; empty is "default".
	Namespace string
	// SearchAttributes exist when the server is ready: name and type, such as "Keyword".
	SearchAttributes map[string]string
	// DynamicConfig overrides the server's dynamic configuration: key and JSON value.
	DynamicConfig map[string]string
	// LogFile receives what the server prints. It is required.
	LogFile string
	// Progress is told what takes time and what is unusual; nil tells nobody.
	Progress func(string)
}

// Temporal is a running server that belongs to this process.
type Temporal struct {
	address string
	uiURL   string
	process *process
	lock    *fileLock // nil in memory
}

// StartTemporal stops the orphan that a killed earlier run left on DBFile, starts the server, and returns once it
// answers for the namespace and, unless headless, its UI listens. The end of ctx stops the start, not a server that
// has started. Every error says in one line what to do.
func StartTemporal(ctx context.Context, cfg TemporalConfig) (*Temporal, error) {
	if cfg.Progress == nil {
		cfg.Progress = func(string) {}
	}
	if cfg.LogFile == "" {
		return nil, errors.New("start Temporal: no log file")
	}
	if cfg.Namespace == "" {
		cfg.Namespace = "default"
	}
	if cfg.DBFile == "" {
		return startTemporal(ctx, cfg)
	}
	file, err := filepath.Abs(cfg.DBFile)
	if err != nil {
		return nil, err
	}
	cfg.DBFile = file
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return nil, fmt.Errorf("make the folder for Temporal: %w", err)
	}
	lock, err := tryLock(file + ".owner")
	if errors.Is(err, errLocked) {
		return nil, fmt.Errorf("the Temporal file %s is in use: stop the other process or choose another folder: %w", file, err)
	}
	if err != nil {
		return nil, err
	}
	t, err := startTemporal(ctx, cfg)
	if err != nil {
		lock.release()
		return nil, err
	}
	t.lock = lock
	return t, nil
}

func startTemporal(ctx context.Context, cfg TemporalConfig) (*Temporal, error) {
	if cfg.DBFile != "" {
		if err := stopOrphanedTemporal(ctx, cfg); err != nil {
			return nil, err
		}
	}
	for attempt := 1; ; attempt++ {
		chosen, err := cfg.choosePorts()
		if err != nil {
			return nil, err
		}
		t, err := runTemporal(ctx, chosen)
		// Another program may have taken a free port in between; the fixed ones were checked.
		if !errors.Is(err, errPortLost) || attempt == temporalAttempts {
			return t, err
		}
	}
}

// choosePorts fills in free ports and refuses taken ones.
func (c TemporalConfig) choosePorts() (TemporalConfig, error) {
	choose := func(port *int, what string) error {
		if *port != 0 {
			return checkPort(*port, what)
		}
		free, err := FreePort()
		*port = free
		return err
	}
	err := choose(&c.Port, "Temporal")
	if err == nil && !c.Headless {
		err = choose(&c.UIPort, "the Temporal UI")
	}
	return c, err
}

func runTemporal(ctx context.Context, cfg TemporalConfig) (*Temporal, error) {
	logStart := fileSize(cfg.LogFile)
	proc, err := startProcess(processSpec{
		path: cfg.Binary, args: cfg.args(), logFile: cfg.LogFile, deathSignal: syscall.SIGTERM,
	})
	if err != nil {
		return nil, fmt.Errorf("Temporal did not start: %w", err)
	}
	t := &Temporal{address: net.JoinHostPort(loopback, strconv.Itoa(cfg.Port)), process: proc}
	if !cfg.Headless {
		t.uiURL = "http://" + net.JoinHostPort(loopback, strconv.Itoa(cfg.UIPort))
	}
	if cfg.DBFile != "" {
		err = writePIDFile(cfg.pidFile(), proc.pid())
	}
	if err == nil {
		err = t.waitReady(ctx, cfg, logStart)
	}
	if err != nil {
		_ = proc.stop(context.WithoutCancel(ctx), stopStep{signal: syscall.SIGTERM, grace: 6 * time.Second})
		return nil, fmt.Errorf("Temporal did not start: %w; its log is %s", err, cfg.LogFile)
	}
	return t, nil
}

// args is the command line, in the words of Temporal's CLI.
func (c TemporalConfig) args() []string {
	args := []string{
		"server", "start-dev", "--ip", loopback, "--port", strconv.Itoa(c.Port), "--namespace", c.Namespace,
		"--log-level", "warn", "--log-format", "json",
	}
	if c.Headless {
		args = append(args, "--headless")
	} else {
		args = append(args, "--ui-port", strconv.Itoa(c.UIPort))
		if c.UICodecEndpoint != "" {
			args = append(args, "--ui-codec-endpoint", c.UICodecEndpoint)
		}
	}
	if c.DBFile != "" {
		args = append(args, "--db-filename", c.DBFile)
	}
	for _, name := range slices.Sorted(maps.Keys(c.SearchAttributes)) {
		args = append(args, "--search-attribute", name+"="+c.SearchAttributes[name])
	}
	for _, key := range slices.Sorted(maps.Keys(c.DynamicConfig)) {
		args = append(args, "--dynamic-config-value", key+"="+c.DynamicConfig[key])
	}
	return args
}

func (c TemporalConfig) pidFile() string { return c.DBFile + ".pid" }

// stopOrphanedTemporal ends the server that a killed earlier run left on the file. The caller holds the file's lock, so
// that run is gone.
func stopOrphanedTemporal(ctx context.Context, cfg TemporalConfig) error {
	pid, err := orphanIn(cfg.pidFile())
	if pid == 0 || err != nil {
		return err
	}
	cfg.Progress(fmt.Sprintf("stopping the Temporal server (process %d) that an earlier run left behind", pid))
	return stopOrphan(ctx, pid,
		stopStep{signal: syscall.SIGTERM, grace: 8 * time.Second},
		stopStep{signal: syscall.SIGKILL, grace: 5 * time.Second},
	)
}

// Address is host:port of the gRPC frontend.
func (t *Temporal) Address() string { return t.address }

// UIURL is the address of the web UI, empty when headless.
func (t *Temporal) UIURL() string { return t.uiURL }

// Pid is the server's process id.
func (t *Temporal) Pid() int { return t.process.pid() }

// Done is closed when the server is gone, for whatever reason.
func (t *Temporal) Done() <-chan struct{} { return t.process.done }

// Stop asks the server to end and waits for it, or kills it when it takes too long or ctx ends. A stopped server may be
// stopped again.
func (t *Temporal) Stop(ctx context.Context) error {
	defer t.lock.release()
	return t.process.stop(ctx, stopStep{signal: syscall.SIGTERM, grace: 8 * time.Second})
}

// Kill ends the server by SIGKILL.
func (t *Temporal) Kill() error {
	defer t.lock.release()
	return t.process.kill()
}

// temporalExit reads why a server that has just ended gave up, from what it added to its log.
func temporalExit(logFile string, from int64) error {
	added, err := readFrom(logFile, from)
	if err != nil || len(added) == 0 {
		return errors.New("it ended at once")
	}
	reason := lastLine(added)
	if strings.Contains(reason, "already taken") || strings.Contains(reason, "address already in use") {
		return fmt.Errorf("%w (%s)", errPortLost, reason)
	}
	return fmt.Errorf("it ended at once (%s)", reason)
}
