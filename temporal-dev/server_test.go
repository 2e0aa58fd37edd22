package main_test

import (
	"io"
	"net/http"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	namespacepb "go.temporal.io/api/namespace/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"google.golang.org/protobuf/types/known/durationpb"
)

const week = 7 * 24 * time.Hour

func TestSDKStarterDrivesIt(t *testing.T) {
	key := temporal.NewSearchAttributeKeyKeyword("Colour")
	server, err := testsuite.StartDevServer(t.Context(), testsuite.DevServerOptions{
		ExistingPath:     binary,
		EnableUI:         true,
		LogLevel:         "error",
		LogFormat:        "pretty",
		SearchAttributes: temporal.NewSearchAttributes(key.ValueSet("")),
		ClientOptions:    &client.Options{Namespace: "starter", Logger: quiet{}},
		ExtraArgs:        []string{"--dynamic-config-value", "frontend.rps=2000"},
		Stdout:           io.Discard,
		Stderr:           io.Discard,
	})
	require.NoError(t, err)
	// The starter returns as soon as the frontend answers: what it asked for must be there.
	runEcho(t, server.Client(), client.StartWorkflowOptions{
		ID:                    "red-one",
		TypedSearchAttributes: temporal.NewSearchAttributes(key.ValueSet("red")),
	})
	listedEventually(t, server.Client(), "Colour = 'red'", "red-one")
	require.NoError(t, server.Stop())
}

func TestSignalsEndItPromptlyAndCleanly(t *testing.T) {
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		t.Run(signal.String(), func(t *testing.T) {
			p := start(t, "--db-filename", filepath.Join(t.TempDir(), "a.db"))
			// A worker's long polls must not hold it up.
			w := worker.New(p.dial(t), echoQueue, worker.Options{})
			w.RegisterWorkflow(Echo)
			require.NoError(t, w.Start())
			t.Cleanup(w.Stop)
			status, took := p.stop(t, signal)
			require.Equal(t, 0, status)
			require.Less(t, took, 6*time.Second)
			require.Empty(t, p.stderr.String())
		})
	}
}

func TestClosedRunsAreKeptSevenDays(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	p := start(t, "--headless", "--db-filename", file, "--namespace", "other")
	service := p.dial(t).WorkflowService()
	for _, namespace := range []string{"default", "other"} {
		require.Equal(t, week, retention(t, service, namespace))
	}
	_, err := service.UpdateNamespace(t.Context(), &workflowservice.UpdateNamespaceRequest{
		Namespace: "default",
		Config:    &namespacepb.NamespaceConfig{WorkflowExecutionRetentionTtl: durationpb.New(24 * time.Hour)},
	})
	require.NoError(t, err)
	require.Equal(t, 24*time.Hour, retention(t, service, "default"))
	p.kill()

	p = start(t, "--headless", "--db-filename", file)
	require.Equal(t, week, retention(t, p.dial(t).WorkflowService(), "default"))
}

func TestReadyLineTellsTheAddresses(t *testing.T) {
	p := start(t)
	require.Equal(t, "temporal-dev ready: frontend "+p.frontend+", ui "+p.ui, p.ready)
	response, err := http.Get(p.ui + "/")
	require.NoError(t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
	require.Contains(t, string(body), "<html")
	response, err = http.Get(p.ui + "/api/v1/namespaces/default")
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)

	p = start(t, "--headless", "--ip", "localhost")
	require.Equal(t, "temporal-dev ready: frontend "+p.frontend, p.ready)
}

func retention(t *testing.T, service workflowservice.WorkflowServiceClient, namespace string) time.Duration {
	t.Helper()
	described, err := service.DescribeNamespace(t.Context(), &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	require.NoError(t, err)
	return described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration()
}

// listedEventually waits until the query finds the one workflow: visibility follows the
// history by a moment.
func listedEventually(t *testing.T, c client.Client, query, workflowID string) {
	t.Helper()
	require.Eventually(t, func() bool {
		listed, err := c.ListWorkflow(t.Context(), &workflowservice.ListWorkflowExecutionsRequest{Query: query})
		return err == nil && len(listed.GetExecutions()) == 1 &&
			listed.GetExecutions()[0].GetExecution().GetWorkflowId() == workflowID
	}, 30*time.Second, 50*time.Millisecond)
}
