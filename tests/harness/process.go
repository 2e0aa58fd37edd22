package harness

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// startTimeout bounds how long a role may take to run.
const startTimeout = 60 * time.Second

// Process is one role of the system as a process of its own.
type Process struct {
	IngressURL string
	AdminURL   string

	t      *testing.T
	cmd    *exec.Cmd
	stdin  io.Closer
	output *lockedBuffer
	exited chan struct{}
	err    error
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

// start runs a role and returns once it has announced itself. The process is
// killed at the test's end; its log is printed when the test failed.
func start(t *testing.T, role, configFile string, env ...string) *Process {
	t.Helper()
	p, ready := launch(t, role, configFile, env...)
	select {
	case r := <-ready:
		p.IngressURL, p.AdminURL = r.IngressURL, r.AdminURL
	case <-p.exited:
		require.FailNow(t, "the role ended before it was ready", "%s: %v\n%s", role, p.err, p.output)
	case <-time.After(startTimeout):
		require.FailNow(t, "the role is not ready in time", "%s\n%s", role, p.output)
	}
	return p
}

// launch runs a role and returns without waiting for it.
func launch(t *testing.T, role, configFile string, env ...string) (*Process, <-chan readiness) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	p := &Process{t: t, cmd: exec.Command(self), output: &lockedBuffer{}, exited: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), append(env, envRole+"="+role, oncehook.EnvConfig+"="+configFile)...)
	p.cmd.Stderr = p.output
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.stdin, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	require.NoError(t, p.cmd.Start())

	ready := make(chan readiness, 1)
	go func() {
		lines := bufio.NewScanner(stdout)
		if lines.Scan() {
			var r readiness
			if json.Unmarshal(lines.Bytes(), &r) == nil {
				ready <- r
			}
		}
		_, _ = io.Copy(io.Discard, stdout)
		p.err = p.cmd.Wait()
		close(p.exited)
	}()
	t.Cleanup(func() {
		p.Kill()
		if t.Failed() {
			t.Logf("%s (pid %d) said:\n%s", role, p.cmd.Process.Pid, p.output)
		}
	})
	return p, ready
}

// Kill ends the process by SIGKILL, if it still runs, and waits for its end.
func (p *Process) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.exited
	_ = p.stdin.Close()
}

// Stop ends the process by SIGTERM and fails the test if it does not exit cleanly.
func (p *Process) Stop() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		require.FailNow(p.t, "the process did not stop", p.output.String())
	}
	require.NoError(p.t, p.err, p.output.String())
}

// Log returns what the process wrote to standard error so far.
func (p *Process) Log() string { return p.output.String() }
