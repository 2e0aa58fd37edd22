package main_test

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"
)

// binary is the program under test, built once.
var binary string

const startTimeout = 60 * time.Second

func TestMain(m *testing.M) {
	os.Exit(buildAndRun(m))
}

func buildAndRun(m *testing.M) int {
	dir, err := os.MkdirTemp("", "temporal-dev-test-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	binary = filepath.Join(dir, "temporal-dev")
	build := exec.Command("go", "build", "-ldflags", "-X main.sourceHash=f00d", "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build temporal-dev: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// process is a running temporal-dev that has reported ready.
type process struct {
	cmd      *exec.Cmd
	stderr   *bytes.Buffer
	exited   chan error
	ready    string
	frontend string
	// ui is empty when headless.
	ui string
}

var readyLine = regexp.MustCompile(`^temporal-dev ready: frontend (\S+?)(?:, ui (\S+))?$`)

// start runs "server start-dev" on a free port and returns once it is ready. The process
// is killed at the end of the test if it still runs.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	args = append([]string{"server", "start-dev", "--port", "0"}, args...)
	p := &process{cmd: exec.Command(binary, args...), stderr: &bytes.Buffer{}, exited: make(chan error, 1)}
	p.cmd.Stderr = p.stderr
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())
	t.Cleanup(p.kill)
	lines := make(chan string, 16)
	go func() {
		scanner := bufio.NewScanner(stdout)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
		close(lines)
		p.exited <- p.cmd.Wait()
		close(p.exited)
	}()
	select {
	case line, ok := <-lines:
		require.True(t, ok, "ended before it was ready: %s", p.stderr)
		found := readyLine.FindStringSubmatch(line)
		require.NotNil(t, found, "unexpected line %q", line)
		p.ready, p.frontend, p.ui = line, found[1], found[2]
	case <-time.After(startTimeout):
		require.Fail(t, "not ready in time")
	}
	return p
}

// kill ends the process by SIGKILL and waits until it is gone.
func (p *process) kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
}

// stop sends the signal and returns the exit status and how long the end took.
func (p *process) stop(t *testing.T, signal os.Signal) (status int, took time.Duration) {
	t.Helper()
	began := time.Now()
	require.NoError(t, p.cmd.Process.Signal(signal))
	select {
	case <-p.exited:
	case <-time.After(startTimeout):
		require.Fail(t, "still running after the signal")
	}
	return p.cmd.ProcessState.ExitCode(), time.Since(began)
}

func (p *process) dial(t *testing.T) client.Client {
	t.Helper()
	c, err := client.Dial(client.Options{HostPort: p.frontend, Logger: quiet{}})
	require.NoError(t, err)
	t.Cleanup(c.Close)
	return c
}

// quiet is an SDK logger that writes nothing.
type quiet struct{}

func (quiet) Debug(string, ...any) {}
func (quiet) Info(string, ...any)  {}
func (quiet) Warn(string, ...any)  {}
func (quiet) Error(string, ...any) {}

// refused runs a command line that must end with exit status 1, nothing on stdout and one
// line on stderr, which it returns.
func refused(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	cmd := exec.Command(binary, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	require.NoError(t, cmd.Start())
	timer := time.AfterFunc(startTimeout, func() { _ = cmd.Process.Signal(syscall.SIGKILL) })
	defer timer.Stop()
	var exit *exec.ExitError
	require.ErrorAs(t, cmd.Wait(), &exit, "succeeded: %s", &stdout)
	require.Equal(t, 1, exit.ExitCode(), "stderr: %s", &stderr)
	require.Empty(t, stdout.String())
	message := strings.TrimSuffix(stderr.String(), "\n")
	require.NotContains(t, message, "\n")
	require.True(t, strings.HasPrefix(message, "temporal-dev: "), message)
	return message
}
