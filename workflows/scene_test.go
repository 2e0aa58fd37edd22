package workflows_test

import (
	"context"
	"flag"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
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
	"github.com/oncehook/oncehook/activities"
	"github.com/oncehook/oncehook/activities/billing"
	"github.com/oncehook/oncehook/activities/logistics"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/devstack"
	"github.com/oncehook/oncehook/internal/devstack/receiver"
	"github.com/oncehook/oncehook/internal/dispatch"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
	"github.com/oncehook/oncehook/workflows"
)

// record keeps the histories of the real runs of a workflow's test, for a version
// of the code whose runs may still be open when the next one comes.
var record = flag.String("record", "", "write the histories of the runs to testdata, under this version") //nolint:gochecknoglobals // a test flag

// scene is a real server, a real database, a worker and a dispatcher between them,
// and the service that effects call, for the runs of one workflow in one shape.
type scene struct {
	*storetest.Store
	service *receiver.Receiver
	// refusals is how many calls the service refuses before it does its work again.
	refusals atomic.Int32

	client   client.Client
	workflow string
	source   string
	file     string // the histories' names begin with it
}

// inBothShapes runs a test of a workflow with Local effects as local activities,
// and as regular ones. file is what its histories are named after.
func inBothShapes(t *testing.T, workflow, file string, test func(t *testing.T, s *scene)) {
	t.Helper()
	address := startServer(t)
	for shape, local := range map[string]bool{"local": true, "regular": false} {
		// One after the other: they share the task queue.
		t.Run(shape, func(t *testing.T) {
			s := openScene(t, address, local)
			s.workflow, s.source, s.file = workflow, "source-"+shape, fmt.Sprintf("%s-%s-%s", file, *record, shape)
			test(t, s)
		})
	}
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
	s := &scene{
		Store:   storetest.Open(t, map[string]fs.FS{logistics.Schema: logistics.Migrations, billing.Schema: billing.Migrations}),
		service: receiver.New(time.Now),
	}
	service := httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(service.Close)
	quiet := slog.New(slog.DiscardHandler)
	var err error
	s.client, err = client.Dial(client.Options{
		HostPort: address, Identity: "recorded", Logger: log.NewStructuredLogger(quiet),
		ConnectionOptions: client.ConnectionOptions{DialOptions: []grpc.DialOption{grpc.WithChainUnaryInterceptor(dispatch.RequestIDInterceptor())}},
	})
	require.NoError(t, err)
	t.Cleanup(s.client.Close)

	r := registry(t, effect.Destination{Name: billing.NoticeDestination, URL: service.URL + receiver.Path})
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

// registry holds every action with its function; notices go to the destination.
func registry(t testing.TB, notice effect.Destination) *effect.Registry {
	t.Helper()
	outside := &http.Client{Transport: effect.Transport(http.DefaultTransport)}
	r, err := effect.NewRegistry(activities.Declared(), slices.Concat(logistics.Bindings(), billing.Bindings(outside, notice)))
	require.NoError(t, err)
	return r
}

func (s *scene) serve(w http.ResponseWriter, r *http.Request) {
	if s.refusals.Add(-1) >= 0 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	s.service.Handler().ServeHTTP(w, r)
}

// check accepts the event, waits for its run's end, and replays the run. The
// name says which path the run takes.
func (s *scene) check(t *testing.T, name string, e storetest.Event, wantState oncehook.State, wantCause string) {
	t.Helper()
	state, cause, history := s.end(t, s.begin(t, e))
	require.Equal(t, wantState, state, name)
	require.Equal(t, wantCause, cause, name)
	require.NoError(t, replay(t, history, workflows.Register), name)
	if *record == "" {
		return
	}
	text, err := temporalproto.CustomJSONMarshalOptions{Indent: "  "}.Marshal(history)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join("testdata", s.file+"-"+name+".json"), append(text, '\n'), 0o600))
}

// begin accepts the event and waits until its run has started.
func (s *scene) begin(t *testing.T, e storetest.Event) store.Candidate {
	t.Helper()
	e.Source, e.Workflow = s.source, s.workflow
	accepted := s.Accept(t, e)
	s.eventually(t, 1, `SELECT count(*) FROM oncehook.outbox WHERE receipt_id = $1 AND dispatched_at IS NOT NULL`, accepted.ReceiptID)
	return accepted
}

// end waits for the run's end.
func (s *scene) end(t *testing.T, begun store.Candidate) (state oncehook.State, cause string, history *historypb.History) {
	t.Helper()
	_ = s.client.GetWorkflow(t.Context(), string(begun.Key), "").Get(t.Context(), nil) // its failure is in the receipt
	state, cause, _ = s.End(t, begun.ReceiptID.String())
	history = &historypb.History{}
	events := s.client.GetWorkflowHistory(t.Context(), string(begun.Key), "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		require.NoError(t, err)
		history.Events = append(history.Events, event)
	}
	return state, cause, history
}

func (s *scene) eventually(t *testing.T, want int, query string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool { return s.Count(t, query, args...) == want }, time.Minute, 20*time.Millisecond, query)
}
