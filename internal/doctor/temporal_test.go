package doctor_test

import (
	"context"
	"errors"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/devstack"
	"github.com/oncehook/oncehook/internal/doctor"
)

// startTemporal starts a server and returns its address.
func startTemporal(t *testing.T) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 7*time.Minute)
	defer cancel()
	root, err := devstack.FindRoot()
	require.NoError(t, err)
	binary, err := devstack.EnsureTemporalDev(ctx, root, func(line string) { t.Log(line) })
	require.NoError(t, err)
	server, err := devstack.StartTemporal(ctx, devstack.TemporalConfig{
		Binary: binary, Headless: true, LogFile: filepath.Join(t.TempDir(), "temporal.log"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Kill() })
	return server.Address()
}

func quiet() log.Logger {
	return log.NewStructuredLogger(slog.New(slog.DiscardHandler))
}

func temporal(address, namespace string, kinds ...string) doctor.Temporal {
	d := doctor.Temporal{
		Options: func() (client.Options, error) {
			return client.Options{HostPort: address, Namespace: namespace, Logger: quiet()}, nil
		},
		Attributes: func(context.Context, client.Client, string) error { return nil },
	}
	for _, kind := range kinds {
		d.Sources = append(d.Sources, config.Source{Name: kind, Provider: kind})
	}
	return d
}

func TestATemporalServerThatCannotBeUsedIsFound(t *testing.T) {
	address := startTemporal(t)
	finds(t, examine(t, temporal("127.0.0.1:1", "default").Check()), doctor.Blocker, "127.0.0.1:1 does not answer", "accepted meanwhile")
	found := examine(t, temporal(address, "nowhere").Check())
	finds(t, found, doctor.Blocker, "no namespace nowhere", "temporal operator namespace create --namespace nowhere")
	require.Len(t, found, 1)

	broken := temporal(address, "default", "stripe")
	broken.Attributes = func(context.Context, client.Client, string) error {
		return errors.New("namespace lacks search attributes; add them with: temporal …")
	}
	found = examine(t, broken.Check())
	finds(t, found, doctor.OK, address+" answers", "namespace default keeps closed runs for 7 days")
	finds(t, found, doctor.Blocker, "lacks search attributes")
	without(t, found, "forgets")

	broken.Options = func() (client.Options, error) {
		return client.Options{}, errors.New("load the temporal configuration: no such profile")
	}
	finds(t, examine(t, broken.Check()), doctor.Blocker, "no such profile", "TEMPORAL_*")
}

func TestANamespaceThatForgetsBeforeAProviderStopsIsFound(t *testing.T) {
	address := startTemporal(t)
	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet()})
	require.NoError(t, err)
	defer c.Close()
	_, err = c.WorkflowService().RegisterNamespace(t.Context(), &workflowservice.RegisterNamespaceRequest{
		Namespace: "brief", WorkflowExecutionRetentionPeriod: durationpb.New(24 * time.Hour),
	})
	require.NoError(t, err)
	brief := temporal(address, "brief", "stripe", "stripe", "standard-webhooks", "bearer")
	var found []doctor.Finding
	require.Eventually(t, func() bool {
		found = examine(t, brief.Check())
		return doctor.Count(found, doctor.Blocker) == 0
	}, time.Minute, 200*time.Millisecond, "the new namespace is known")
	finds(t, found, doctor.Warning, "stripe sends events again for 3 days", "after 24 hours", "namespace update --namespace brief")
	finds(t, found, doctor.Warning, "standard-webhooks sends events again for 28 hours")
	without(t, found, "bearer")
	require.Equal(t, []string{"0 hours", "28 hours", "3 days"}, []string{doctor.Hours(0), doctor.Hours(28 * time.Hour), doctor.Hours(72 * time.Hour)})
}

func wait(ctx workflow.Context) error { return workflow.Sleep(ctx, time.Hour) }

func TestAQueueWithoutWorkersAndOneThatTheyCannotKeepUpWithAreFound(t *testing.T) {
	address := startTemporal(t)
	check := temporal(address, "default")
	found := examine(t, check.Check())
	finds(t, found, doctor.Warning, "no worker polls the task queue oncehook for workflow tasks", "start oncehook work")
	finds(t, found, doctor.Warning, "no worker polls", "activity tasks")

	c, err := client.Dial(client.Options{HostPort: address, Logger: quiet(), Identity: "oncehook 0193-ours"})
	require.NoError(t, err)
	defer c.Close()
	w := worker.New(c, oncehook.TaskQueue, worker.Options{})
	w.RegisterWorkflow(wait)
	w.RegisterActivity(func() error { return nil })
	require.NoError(t, w.Start())
	require.Eventually(t, func() bool {
		return doctor.Count(examine(t, check.Check()), doctor.Warning) == 0
	}, time.Minute, 200*time.Millisecond, "the worker polls")
	finds(t, examine(t, check.Check()), doctor.OK, "workers for workflow tasks (1)")

	check.Processes = func(context.Context) ([]string, error) { return []string{"0193-ours"}, nil }
	without(t, examine(t, check.Check()), "no process of this database")
	check.Processes = func(context.Context) ([]string, error) { return []string{"0193-another"}, nil }
	finds(t, examine(t, check.Check()), doctor.Warning, "no process of this database", "oncehook 0193-ours")
	check.Processes = nil

	w.Stop()
	check.Late = time.Millisecond
	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: uuid.NewString(), TaskQueue: oncehook.TaskQueue}, wait)
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		for _, f := range examine(t, check.Check()) {
			if f.Level == doctor.Warning && f.Remedy == "start more oncehook work" {
				return true
			}
		}
		return false
	}, time.Minute, 200*time.Millisecond, "the task waits")
}
