package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack"
)

// ownPostgres starts a server that the test may freeze.
func ownPostgres(t *testing.T) *devstack.Postgres {
	t.Helper()
	server, err := devstack.StartPostgres(t.Context(), devstack.PostgresConfig{
		Dir: filepath.Join(t.TempDir(), "postgres"), NoFsync: true,
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Remove()) })
	return server
}

// freeze stops the server and its sessions as they stand, until the test ends:
// connections can be made, and nothing answers on them.
func freeze(t *testing.T, server *devstack.Postgres) {
	t.Helper()
	stopped := []int{server.Pid()}
	t.Cleanup(func() {
		for _, pid := range stopped {
			_ = syscall.Kill(pid, syscall.SIGCONT)
		}
	})
	// Stopped first, the postmaster makes no child that the list would miss.
	require.NoError(t, syscall.Kill(server.Pid(), syscall.SIGSTOP))
	list, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", server.Pid(), server.Pid()))
	require.NoError(t, err)
	for _, field := range strings.Fields(string(list)) {
		pid, err := strconv.Atoi(field)
		require.NoError(t, err)
		require.NoError(t, syscall.Kill(pid, syscall.SIGSTOP))
		stopped = append(stopped, pid)
	}
}
