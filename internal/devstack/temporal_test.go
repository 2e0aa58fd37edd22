package devstack

import (
	"context"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/api/operatorservice/v1"
	taskqueuepb "go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// temporalBinary builds the real server if a change to its sources made that necessary.
func temporalBinary(t *testing.T) string {
	t.Helper()
	root, err := FindRoot()
	require.NoError(t, err)
	path, err := EnsureTemporalDev(t.Context(), root, func(line string) { t.Log(line) })
	require.NoError(t, err)
	return path
}

func startServer(t *testing.T, cfg TemporalConfig) *Temporal {
	t.Helper()
	cfg.Progress = func(line string) { t.Log(line) }
	server, err := StartTemporal(t.Context(), cfg)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Kill()) })
	return server
}

func dial(t *testing.T, server *Temporal) *grpc.ClientConn {
	t.Helper()
	conn, err := grpc.NewClient(server.Address(), grpc.WithTransportCredentials(insecure.NewCredentials()))
	require.NoError(t, err)
	t.Cleanup(func() { conn.Close() })
	return conn
}

func TestTemporalAnswersWhenStartedAndKeepsWorkflowsOverStopAndKill(t *testing.T) {
	binary, dir := temporalBinary(t), t.TempDir()
	cfg := TemporalConfig{
		Binary: binary, DBFile: filepath.Join(dir, "temporal.db"), LogFile: filepath.Join(dir, "temporal.log"),
		Namespace: "devstack", SearchAttributes: map[string]string{"OncehookSource": "Keyword"},
	}
	server := startServer(t, cfg)
	conn := dial(t, server)
	attributes, err := operatorservice.NewOperatorServiceClient(conn).ListSearchAttributes(t.Context(),
		&operatorservice.ListSearchAttributesRequest{Namespace: "devstack"})
	require.NoError(t, err)
	require.Contains(t, attributes.GetCustomAttributes(), "OncehookSource")
	response, err := http.Get(server.UIURL())
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	_, err = workflowservice.NewWorkflowServiceClient(conn).StartWorkflowExecution(t.Context(), &workflowservice.StartWorkflowExecutionRequest{
		Namespace: "devstack", WorkflowId: "kept", RequestId: "1",
		WorkflowType: &commonpb.WorkflowType{Name: "Kept"}, TaskQueue: &taskqueuepb.TaskQueue{Name: "nobody"},
	})
	require.NoError(t, err)
	require.NoError(t, server.Stop(t.Context()))
	require.NoError(t, server.Stop(t.Context()), "a second stop is no error")

	for range 2 {
		server = startServer(t, cfg)
		_, err = workflowservice.NewWorkflowServiceClient(dial(t, server)).DescribeWorkflowExecution(t.Context(),
			&workflowservice.DescribeWorkflowExecutionRequest{
				Namespace: "devstack", Execution: &commonpb.WorkflowExecution{WorkflowId: "kept"},
			})
		require.NoError(t, err)
		require.NoError(t, server.Kill())
	}
}

func TestTemporalOrphanDoesNotBlock(t *testing.T) {
	binary, dir := temporalBinary(t), t.TempDir()
	cfg := TemporalConfig{
		Binary: binary, DBFile: filepath.Join(dir, "temporal.db"), LogFile: filepath.Join(dir, "temporal.log"), Headless: true,
	}
	server := startServer(t, cfg)
	require.Empty(t, server.UIURL())
	_, err := StartTemporal(t.Context(), cfg)
	require.ErrorIs(t, err, errLocked, "while its parent lives the file is refused")
	require.ErrorContains(t, err, strconv.Itoa(os.Getpid()))

	server.lock.release() // as the kernel does for a dead parent; the server lives on, as without a parent-death signal
	next := startServer(t, cfg)
	require.False(t, alive(server.Pid()))
	require.True(t, alive(next.Pid()))
}

func TestTemporalErrorsSayInOneLineWhatToDo(t *testing.T) {
	dir := t.TempDir()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { taken.Close() })
	_, err = StartTemporal(t.Context(), TemporalConfig{
		Binary: "unused", LogFile: filepath.Join(dir, "log"), Port: taken.Addr().(*net.TCPAddr).Port,
	})
	require.ErrorContains(t, err, "is taken by another program: choose another for Temporal, or 0 for a free one")

	_, err = StartTemporal(t.Context(), TemporalConfig{
		Binary: filepath.Join(dir, "missing"), LogFile: filepath.Join(dir, "log"),
	})
	require.ErrorContains(t, err, "no such file")

	failing := filepath.Join(dir, "failing")
	write(t, failing, "#!/bin/sh\necho temporal-dev: database file is broken >&2\nexit 1\n")
	require.NoError(t, os.Chmod(failing, 0o755))
	_, err = StartTemporal(t.Context(), TemporalConfig{Binary: failing, LogFile: filepath.Join(dir, "log")})
	require.ErrorContains(t, err, "temporal-dev: database file is broken")
	require.NotContains(t, err.Error(), "\n")
}

func TestAChildEndsWithoutGraceWhenItsStopIsCutShort(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(processSpec{
		path: "/bin/sh", args: []string{"-c", `trap "" TERM; echo deaf; while :; do sleep 1; done`},
		logFile: filepath.Join(t.TempDir(), "log"),
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, p.stop(ctx, stopStep{signal: 15, grace: 1 << 40}))
	require.False(t, alive(p.pid()))
}
