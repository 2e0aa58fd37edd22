package workflows_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/workflows"
)

// replay runs a recorded run against today's code, with the production interceptors.
func replay(t testing.TB, history *historypb.History, register func(worker.WorkflowRegistry)) error {
	t.Helper()
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		Interceptors:                []interceptor.WorkerInterceptor{registry(t, effect.Destination{}).WorkerInterceptor(nil)},
		DisableRegistrationAliasing: true,
	})
	require.NoError(t, err)
	register(replayer)
	return replayer.ReplayWorkflowHistory(log.NewStructuredLogger(slog.New(slog.DiscardHandler)), history)
}

func recorded(t testing.TB) map[string]*historypb.History {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "*.json"))
	require.NoError(t, err)
	histories := map[string]*historypb.History{}
	for _, name := range files {
		file, err := os.Open(name)
		require.NoError(t, err)
		histories[filepath.Base(name)], err = client.HistoryFromJSON(file, client.HistoryJSONOptions{})
		require.NoError(t, err)
		require.NoError(t, file.Close())
	}
	return histories
}

// A red test here means that a worker with this code cannot continue runs that
// are open now. Histories are added, never recorded anew.
func TestRunsRecordedBeforeReplayWithTodaysCode(t *testing.T) {
	t.Parallel()
	histories := recorded(t)
	require.NotEmpty(t, histories)
	covered := map[string]bool{}
	for name, history := range histories {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.NoError(t, replay(t, history, workflows.Register))
		})
		covered[history.GetEvents()[0].GetWorkflowExecutionStartedEventAttributes().GetWorkflowType().GetName()] = true
	}
	for _, route := range workflows.Catalog() {
		require.True(t, covered[route.Workflow], "no recorded run of %s", route.Workflow)
	}
}

// The end of a run must be written, however long that takes.
func TestFinishIsRetriedWithoutLimit(t *testing.T) {
	t.Parallel()
	scheduled := 0
	for name, history := range recorded(t) {
		for _, event := range history.GetEvents() {
			a := event.GetActivityTaskScheduledEventAttributes()
			if a.GetActivityType().GetName() != oncehook.ActionFinish {
				continue
			}
			scheduled++
			require.Zero(t, a.GetRetryPolicy().GetMaximumAttempts(), name)
			require.Greater(t, a.GetScheduleToCloseTimeout().AsDuration(), 365*24*time.Hour, name)
		}
	}
	require.Positive(t, scheduled)
}

func TestReplayNoticesChangedCode(t *testing.T) {
	t.Parallel()
	histories := recorded(t)
	type function = func(workflow.Context, oncehook.Ref) error
	for prefix, w := range map[string]struct {
		name string
		now  function
	}{
		"shipment_depot_arrival-": {"ShipmentDepotArrival", workflows.ShipmentDepotArrival},
		"invoice_paid-":           {"InvoicePaid", workflows.InvoicePaid},
	} {
		for change, changed := range map[string]function{
			"no effect": func(workflow.Context, oncehook.Ref) error { return nil },
			"a timer first": func(ctx workflow.Context, ref oncehook.Ref) error {
				if err := workflow.Sleep(ctx, 1); err != nil {
					return err
				}
				return w.now(ctx, ref)
			},
		} {
			for file, history := range histories {
				if !strings.HasPrefix(file, prefix) {
					continue
				}
				t.Run(change+" "+file, func(t *testing.T) {
					t.Parallel()
					require.Error(t, replay(t, history, func(r worker.WorkflowRegistry) {
						r.RegisterWorkflowWithOptions(changed, workflow.RegisterOptions{Name: w.name})
					}))
				})
			}
		}
	}
}

func TestEveryRouteHasARegisteredWorkflow(t *testing.T) {
	t.Parallel()
	names := map[string]bool{}
	workflows.Register(nameCollector{names})
	for _, route := range workflows.Catalog() {
		require.True(t, names[route.Workflow], route.Workflow)
		require.NotEmpty(t, route.Provider)
		require.NotEmpty(t, route.Type)
	}
}

// nameCollector is a worker that only notes the names.
type nameCollector struct{ names map[string]bool }

func (nameCollector) RegisterWorkflow(any) {}

func (c nameCollector) RegisterWorkflowWithOptions(_ any, o workflow.RegisterOptions) {
	c.names[o.Name] = true
}

func (nameCollector) RegisterDynamicWorkflow(any, workflow.DynamicRegisterOptions) {}
