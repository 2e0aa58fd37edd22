package workflows_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/temporalproto"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"
	"google.golang.org/grpc"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/logistics"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/devstack"
	"github.com/oncehook/oncehook/internal/dispatch"
	"github.com/oncehook/oncehook/internal/store/storetest"
	"github.com/oncehook/oncehook/workflows"
)

// record keeps the histories of the real runs below, for a version of the code
// whose runs may still be open when the next one comes.
var record = flag.String("record", "", "write the histories of the runs to testdata, under this version") //nolint:gochecknoglobals // a test flag

// scene is a real server, a real database, and a worker and dispatcher between them.
type scene struct {
	*storetest.Store
	client client.Client
}

// startServer starts a Temporal server for the test, in memory.
func startServer(t *testing.T) string {
	t.Helper()
	root, err := devstack.FindRoot()
	require.NoError(t, err)
	binary, err := devstack.EnsureTemporalDev(t.Context(), root, func(line string) { t.Log(line) })
	require.NoError(t, err)
	attributes := map[string]string{}
	for _, name := range oncehook.SearchAttributes() {
		attributes[name] = "Keyword"
	}
	server, err := devstack.StartTemporal(t.Context(), devstack.TemporalConfig{
		Binary: binary, Headless: true, SearchAttributes: attributes, LogFile: filepath.Join(t.TempDir(), "temporal.log"),
	})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Kill()) })
	return server.Address()
}

func openScene(t *testing.T, address string, local bool) *scene {
	t.Helper()
	s := &scene{Store: storetest.Open(t, map[string]fs.FS{logistics.Schema: logistics.Migrations})}
	quiet := slog.New(slog.DiscardHandler)
	var err error
	s.client, err = client.Dial(client.Options{
		HostPort: address, Identity: "recorded", Logger: log.NewStructuredLogger(quiet),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(dispatch.RequestIDInterceptor())}},
	})
	require.NoError(t, err)
	t.Cleanup(s.client.Close)

	r := registry(t)
	w := worker.New(s.client, oncehook.TaskQueue, effect.WorkerOptions(worker.Options{
		Interceptors:             []interceptor.WorkerInterceptor{r.WorkerInterceptor(s.Work, effect.WithLog(quiet))},
		DeadlockDetectionTimeout: time.Minute,
	}))
	r.Register(w)
	workflows.Register(w)
	require.NoError(t, w.Start())
	t.Cleanup(w.Stop)

	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	d := dispatch.New(dispatch.Config{Store: s.Work, Client: s.client, Log: quiet, Local: local, Eager: true})
	go func() { done <- d.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		require.NoError(t, <-done)
	})
	return s
}

// arrive accepts the event and waits for its run's end.
func (s *scene) arrive(t *testing.T, e storetest.Event) (state oncehook.State, cause string, history *historypb.History) {
	t.Helper()
	e.Workflow = "ShipmentDepotArrival"
	accepted := s.Accept(t, e)
	require.Eventually(t, func() bool {
		return s.Count(t, `SELECT count(*) FROM oncehook.outbox WHERE receipt_id = $1 AND dispatched_at IS NOT NULL`, accepted.ReceiptID) == 1
	}, time.Minute, 20*time.Millisecond)
	_ = s.client.GetWorkflow(t.Context(), string(accepted.Key), "").Get(t.Context(), nil) // its failure is in the receipt
	state, cause, _ = s.End(t, accepted.ReceiptID.String())
	history = &historypb.History{}
	events := s.client.GetWorkflowHistory(t.Context(), string(accepted.Key), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	return state, cause, history
}

func TestArrivalsOnARealServerEndAsSaidAndReplay(t *testing.T) {
	address := startServer(t)
	for shape, local := range map[string]bool{"local": true, "regular": false} {
		// One after the other: they share the task queue.
		t.Run(shape, func(t *testing.T) {
			s := openScene(t, address, local)
			noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
			check := func(name string, e storetest.Event, wantState oncehook.State, wantCause string) {
				e.Source = "logistics-" + shape
				state, cause, history := s.arrive(t, e)
				require.Equal(t, wantState, state, name)
				require.Equal(t, wantCause, cause, name)
				require.NoError(t, replay(t, history, workflows.Register), name)
				keep(t, fmt.Sprintf("shipment_depot_arrival-%s-%s-%s.json", *record, shape, name), history)
			}
			arrival := func(id, depot string, at time.Time) storetest.Event {
				return storetest.Event{ID: id, OccurredAt: at, Body: `{"shipment_id":"shipment-1","depot_id":"` + depot + `"}`}
			}
			check("succeeded", arrival("event-1", "a", noon), oncehook.StateSucceeded, "finished")
			check("superseded", arrival("event-2", "b", noon.Add(-time.Hour)), oncehook.StateIgnored, "superseded")
			check("permanent", storetest.Event{ID: "event-3", Body: `{}`}, oncehook.StateDeadLettered, "permanent")
			require.Equal(t, 1, s.Count(t, `SELECT count(*) FROM logistics.shipment_transitions`))

			// The table is away for the first attempts.
			_, err := s.DB.Exec(t.Context(), `ALTER TABLE logistics.shipments RENAME TO elsewhere`)
			require.NoError(t, err)
			back := make(chan error, 1)
			go func() {
				for {
					var failed int
					err := s.DB.QueryRow(context.Background(), `SELECT count(*) FROM oncehook.actions WHERE last_error IS NOT NULL AND state = 'running'`).Scan(&failed)
					if err == nil && failed > 0 {
						_, err = s.DB.Exec(context.Background(), `ALTER TABLE logistics.elsewhere RENAME TO shipments`)
						back <- err
						return
					}
					if err != nil {
						back <- err
						return
					}
				}
			}()
			check("retried", arrival("event-4", "c", noon.Add(time.Hour)), oncehook.StateSucceeded, "finished")
			require.NoError(t, <-back)
			require.Equal(t, 2, s.Count(t, `SELECT count(*) FROM logistics.shipment_transitions`))
		})
	}
}

func keep(t *testing.T, name string, history *historypb.History) {
	t.Helper()
	if *record == "" {
		return
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: "  "}.Marshal(history)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join("testdata", name), append(text, '\n'), 0o600))
}
