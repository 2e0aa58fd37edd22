package harness

import (
	"context"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/app"
)

// roleDrain is `work --drain`.
const roleDrain = "drain"

// envDrainTimeout bounds it.
const envDrainTimeout = "ONCEHOOK_TEST_DRAIN_TIMEOUT"

// Drain starts a `work --drain` process, which says what is left in its log.
func (s *System) Drain(limit time.Duration) *Process {
	s.T.Helper()
	return start(s.T, roleDrain, s.ConfigFile, envDrainTimeout+"="+limit.String())
}

func drainRole(ctx context.Context, a *app.App) error {
	limit, err := time.ParseDuration(os.Getenv(envDrainTimeout))
	if err != nil {
		return err
	}
	announce(readiness{})
	left, err := a.Drain(ctx, limit)
	if err == nil {
		fmt.Fprintln(os.Stderr, "drained:", left)
	}
	return err
}

// Exit waits for the process to end by itself and returns its exit code.
func (p *Process) Exit(within time.Duration) int {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(within):
		require.FailNow(p.t, "the process goes on", p.output.String())
	}
	return p.cmd.ProcessState.ExitCode()
}

// Terminate sends SIGTERM and does not wait.
func (p *Process) Terminate() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGTERM))
}
