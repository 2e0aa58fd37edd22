//go:build unix

package harness

import (
	"syscall"

	"github.com/stretchr/testify/require"
)

// Pause stops the process where it is, as a machine that stalls does.
func (p *Process) Pause() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGSTOP))
}

// Resume lets it go on.
func (p *Process) Resume() {
	p.t.Helper()
	require.NoError(p.t, p.cmd.Process.Signal(syscall.SIGCONT))
}
