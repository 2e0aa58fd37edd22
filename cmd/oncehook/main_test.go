package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

// envCommand makes a re-execution of the test binary be the command.
const envCommand = "ONCEHOOK_TEST_COMMAND"

func TestMain(m *testing.M) {
	if os.Getenv(envCommand) != "" {
		main()
	}
	os.Exit(pgtest.Run(m))
}

// install is one installation: a folder with a configuration and its secrets.
type install struct {
	t      *testing.T
	dir    string
	config string
	// cwd is where commands run; "" means dir.
	cwd string
}

// result is what a command said.
type result struct {
	code           int
	stdout, stderr string
}

func (i install) command(args ...string) *exec.Cmd {
	self, err := os.Executable()
	require.NoError(i.t, err)
	cmd := exec.CommandContext(i.t.Context(), self, args...)
	if cmd.Dir = i.cwd; cmd.Dir == "" {
		cmd.Dir = i.dir
	}
	for _, setting := range os.Environ() {
		if !strings.HasPrefix(setting, "ONCEHOOK_") && !strings.HasPrefix(setting, "TEMPORAL_") {
			cmd.Env = append(cmd.Env, setting)
		}
	}
	cmd.Env = append(cmd.Env, envCommand+"=1")
	if i.config != "" {
		cmd.Env = append(cmd.Env, "ONCEHOOK_CONFIG="+i.config)
	}
	return cmd
}

// run runs a command to its end.
func (i install) run(args ...string) result {
	i.t.Helper()
	cmd := i.command(args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if cmd.ProcessState == nil {
		require.NoError(i.t, err)
	}
	return result{cmd.ProcessState.ExitCode(), stdout.String(), stderr.String()}
}

// ok runs a command that must succeed and returns what it printed.
func (i install) ok(args ...string) string {
	i.t.Helper()
	r := i.run(args...)
	require.Zero(i.t, r.code, "%v: %s%s", args, r.stdout, r.stderr)
	return r.stdout
}

// fails runs a command that must exit so, with one line on standard error.
func (i install) fails(code int, args ...string) result {
	i.t.Helper()
	r := i.run(args...)
	require.Equal(i.t, code, r.code, "%v: %s%s", args, r.stdout, r.stderr)
	require.True(i.t, strings.HasPrefix(r.stderr, "oncehook: "), r.stderr)
	return r
}

// background is a command that goes on running.
type background struct {
	t      *testing.T
	cmd    *exec.Cmd
	output *lockedBuffer
	ended  chan struct{}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// start runs a command until the test ends, with more in its environment.
func (i install) start(env []string, args ...string) *background {
	i.t.Helper()
	b := &background{t: i.t, cmd: i.command(args...), output: &lockedBuffer{}, ended: make(chan struct{})}
	// The test's context ends before its cleanup, which ends the command gently.
	b.cmd = rebind(b.cmd)
	b.cmd.Env = append(b.cmd.Env, env...)
	b.cmd.Stdout, b.cmd.Stderr = b.output, b.output
	require.NoError(i.t, b.cmd.Start())
	go func() {
		_ = b.cmd.Wait()
		close(b.ended)
	}()
	i.t.Cleanup(func() {
		_ = b.cmd.Process.Signal(syscall.SIGTERM)
		select {
		case <-b.ended:
		case <-time.After(20 * time.Second):
			_ = b.cmd.Process.Kill()
			<-b.ended
		}
		if i.t.Failed() {
			i.t.Logf("%v said:\n%s", args, b.output)
		}
	})
	return b
}

func rebind(cmd *exec.Cmd) *exec.Cmd {
	free := exec.CommandContext(context.Background(), cmd.Path, cmd.Args[1:]...)
	free.Dir, free.Env = cmd.Dir, cmd.Env
	return free
}

// stop ends the command by the signal and returns its exit code and how long that took.
func (b *background) stop(signal os.Signal) (int, time.Duration) {
	b.t.Helper()
	began := time.Now()
	require.NoError(b.t, b.cmd.Process.Signal(signal))
	select {
	case <-b.ended:
	case <-time.After(30 * time.Second):
		require.FailNow(b.t, "the command did not end")
	}
	return b.cmd.ProcessState.ExitCode(), time.Since(began)
}

// until waits for a condition, and fails at once when the command ends before.
func (b *background) until(within time.Duration, condition func() bool, what string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool {
		select {
		case <-b.ended:
			require.FailNow(b.t, "the command ended before: "+what, b.output.String())
		default:
		}
		return condition()
	}, within, 50*time.Millisecond, what)
}

const (
	testToken = "test-sender-5d1f0c7a9b3e48d2a6c4f8e17b90d35c"
	nextToken = "test-sender-8e42b6d09f7c41a3b5e1d8f63a27c90b"
)

// newInstall makes an installation with an empty database.
func newInstall(t *testing.T) install {
	t.Helper()
	i := install{t: t, dir: t.TempDir()}
	identity, keyset, err := keyring.Generate()
	require.NoError(t, err)
	admin, err := store.NewOperatorToken()
	require.NoError(t, err)
	for name, secret := range map[string]string{
		"identity": string(identity), "keyset": string(keyset), "admin": string(admin), "db": pgtest.Empty(t),
		"sender": testToken, "next": nextToken,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(i.dir, name), []byte(secret), 0o600))
	}
	ingressPort, adminPort := freePort(t), freePort(t)
	i.config = filepath.Join(i.dir, "oncehook.yaml")
	require.NoError(t, os.WriteFile(i.config, fmt.Appendf(nil, `version: 1
database: {url: {file: db}}
temporal: {address: "127.0.0.1:1", ui_url: "http://temporal.test"}
keys: {identity: {file: identity}, keyset: {file: keyset}}
ingress: {addr: "127.0.0.1:%d"}
admin: {addr: "127.0.0.1:%d", token: {file: admin}}
sources:
  logistics:
    provider: bearer
    principals:
      - name: sender
        tenants: [north, south]
        credentials: [{version: "1", secret: {file: sender}}, {version: "2", secret: {file: next}}]
    types: [shipment.depot_arrival]
    fields: {required: [shipment_id, depot_id], subject: shipment_id}
    limits: {rate: 1000, burst: 1000}
`, ingressPort, adminPort), 0o600))
	return i
}

func freePort(t *testing.T) int {
	t.Helper()
	port, err := devstack.FreePort()
	require.NoError(t, err)
	return port
}
