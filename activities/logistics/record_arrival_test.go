package logistics_test

import (
	"fmt"
	"io/fs"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/logistics"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func open(t testing.TB) *storetest.Store {
	t.Helper()
	return storetest.Open(t, map[string]fs.FS{logistics.Schema: logistics.Migrations})
}

// record runs the action for a queued event, with everything around it.
func record(t testing.TB, s *storetest.Store, ref oncehook.Ref) (logistics.Recorded, error) {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	suite.SetDisableRegistrationAliasing(true)
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	registry, err := effect.NewRegistry([]effect.Declared{logistics.RecordArrival}, logistics.Bindings())
	require.NoError(t, err)
	env.SetWorkerOptions(effect.WorkerOptions(worker.Options{
		Interceptors:             []interceptor.WorkerInterceptor{registry.WorkerInterceptor(s.Work, effect.WithLog(slog.New(slog.DiscardHandler)))},
		DeadlockDetectionTimeout: time.Minute,
	}))
	registry.Register(env)
	env.RegisterWorkflowWithOptions(func(ctx workflow.Context, _ oncehook.Ref) (logistics.Recorded, error) {
		return logistics.RecordArrival.Do(ctx, logistics.Arrival{})
	}, workflow.RegisterOptions{Name: "Flow"})
	env.ExecuteWorkflow("Flow", ref)
	require.True(t, env.IsWorkflowCompleted())
	if err := env.GetWorkflowError(); err != nil {
		return logistics.Recorded{}, err
	}
	var recorded logistics.Recorded
	require.NoError(t, env.GetWorkflowResult(&recorded))
	return recorded, nil
}

func at(hour int) time.Time { return time.Date(2026, 11, 30, hour, 0, 0, 0, time.UTC) }

func body(shipment, depot string) string {
	return fmt.Sprintf(`{"shipment_id":%q,"depot_id":%q}`, shipment, depot)
}

func depot(t testing.TB, s *storetest.Store, tenant, shipment string) string {
	t.Helper()
	var depot string
	require.NoError(t, s.DB.QueryRow(t.Context(), `SELECT depot_id FROM logistics.shipments WHERE tenant = $1 AND shipment_id = $2`, tenant, shipment).Scan(&depot))
	return depot
}

func TestObservationsApplyInTheirOrder(t *testing.T) {
	t.Parallel()
	type observation struct {
		depot      string
		occurredAt time.Time
		superseded bool
	}
	cases := map[string][]observation{
		"new after old":            {{"a", at(1), false}, {"b", at(2), false}},
		"old after new":            {{"a", at(2), false}, {"b", at(1), true}},
		"equal applies":            {{"a", at(1), false}, {"b", at(1), false}},
		"absent follows receipt":   {{"a", time.Time{}, false}, {"b", time.Time{}, false}},
		"absent after a time":      {{"a", at(5), false}, {"b", time.Time{}, false}},
		"a time after absent":      {{"a", time.Time{}, false}, {"b", at(1), false}},
		"superseded changes none":  {{"a", at(3), false}, {"b", at(1), true}, {"c", at(2), true}, {"d", at(4), false}},
		"the last change compares": {{"a", at(3), false}, {"b", time.Time{}, false}, {"c", at(1), false}},
	}
	for name, observations := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			want, last := 0, ""
			for n, o := range observations {
				ref := s.Queue(t, storetest.Event{ID: fmt.Sprint("event-", n), Body: body("shipment-1", o.depot), OccurredAt: o.occurredAt})
				recorded, err := record(t, s, ref)
				require.NoError(t, err)
				state, cause, detail := s.End(t, ref.ReceiptID)
				if o.superseded {
					require.Equal(t, oncehook.StateIgnored, state)
					require.Equal(t, oncehook.CauseSuperseded, cause)
					require.Contains(t, detail, "last changed by an observation of")
					continue
				}
				require.Equal(t, oncehook.StateSucceeded, state)
				want++
				require.Equal(t, logistics.Recorded{FromDepot: last, ToDepot: o.depot, Version: int64(want), Unordered: o.occurredAt.IsZero()}, recorded)
				last = o.depot
			}
			require.Equal(t, last, depot(t, s, "north", "shipment-1"))
			require.Equal(t, want, s.Count(t, `SELECT count(*) FROM logistics.shipment_transitions`))
			require.Equal(t, want, s.Count(t, `SELECT count(*) FROM logistics.audit WHERE principal = 'sender' AND credential_version = '1' AND event_key LIKE 'logistics:north:event-%'`))
		})
	}
}

func TestUnorderedObservationThatWasReceivedEarlierIsSuperseded(t *testing.T) {
	t.Parallel()
	s := open(t)
	earlier := s.Queue(t, storetest.Event{ID: "event-1", Body: body("shipment-1", "a")})
	later := s.Queue(t, storetest.Event{ID: "event-2", Body: body("shipment-1", "b")})
	_, err := record(t, s, later)
	require.NoError(t, err)
	_, err = record(t, s, earlier)
	require.NoError(t, err)
	_, cause, detail := s.End(t, earlier.ReceiptID)
	require.Equal(t, oncehook.CauseSuperseded, cause)
	require.Contains(t, detail, "received at")
	require.Equal(t, "b", depot(t, s, "north", "shipment-1"))
}

func TestNoIDReachesAnotherTenantsShipment(t *testing.T) {
	t.Parallel()
	s := open(t)
	for _, tenant := range []string{"north", "south"} {
		_, err := record(t, s, s.Queue(t, storetest.Event{ID: "event-1", Tenant: tenant, Body: body("shipment-1", "depot of "+tenant)}))
		require.NoError(t, err)
	}
	require.Equal(t, "depot of north", depot(t, s, "north", "shipment-1"))
	require.Equal(t, "depot of south", depot(t, s, "south", "shipment-1"))
}

func TestBodiesAreReadExactlyOrNotAtAll(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		body    string
		problem string // "" = applies
	}{
		"strings":         {body("shipment-1", "a"), ""},
		"long numbers":    {`{"shipment_id":90071992547409931,"depot_id":7}`, ""},
		"duplicate names": {`{"note":1,"note":2,"shipment_id":"x","depot_id":"a"}`, ""},
		"other fields":    {`{"shipment_id":"x","depot_id":"a","x":{"y":["\ud800","\u0000"]}}`, ""},
		"bad UTF-8 aside": {"{\"shipment_id\":\"x\",\"depot_id\":\"a\",\"note\":\"\xff\"}", ""},
		"other case":      {`{"Shipment_ID":"x","depot_id":"a"}`, "shipment_id is not a string"},
		"missing":         {`{"shipment_id":"x"}`, "depot_id is not a string"},
		"null":            {`{"shipment_id":null,"depot_id":"a"}`, "shipment_id is not a string"},
		"empty":           {`{"shipment_id":"","depot_id":"a"}`, "shipment_id is empty"},
		"NUL":             {`{"shipment_id":"a\u0000b","depot_id":"a"}`, "shipment_id holds a NUL character"},
		"lone surrogate":  {`{"shipment_id":"\ud800","depot_id":"a"}`, "shipment_id is not valid Unicode"},
		"no object":       {`[1]`, "not a JSON object"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			ref := s.Queue(t, storetest.Event{ID: "event-1", Body: c.body})
			_, err := record(t, s, ref)
			_, cause, detail := s.End(t, ref.ReceiptID)
			if c.problem == "" {
				require.NoError(t, err)
				require.Equal(t, oncehook.CauseFinished, cause)
				return
			}
			require.Error(t, err)
			require.Equal(t, oncehook.CausePermanent, cause)
			require.Contains(t, detail, c.problem)
		})
	}
}

func TestAnEventWhosePayloadIsGoneIsADeadLetter(t *testing.T) {
	t.Parallel()
	s := open(t)
	ref := s.Queue(t, storetest.Event{ID: "event-1"})
	_, err := s.DB.Exec(t.Context(), `DELETE FROM oncehook.payloads`)
	require.NoError(t, err)
	_, err = record(t, s, ref)
	require.Error(t, err)
	_, cause, detail := s.End(t, ref.ReceiptID)
	require.Equal(t, oncehook.CausePermanent, cause)
	require.Contains(t, detail, "past its retention")
}

func TestConcurrentObservationsOfOneShipmentAreAllDecided(t *testing.T) {
	t.Parallel()
	s := open(t)
	const observations = 8
	refs := make([]oncehook.Ref, observations)
	for n := range refs {
		refs[n] = s.Queue(t, storetest.Event{ID: fmt.Sprint("event-", n), Body: body("shipment-1", fmt.Sprint("depot-", n)), OccurredAt: at(n)})
	}
	t.Run("at once", func(t *testing.T) {
		for n, ref := range refs {
			t.Run(fmt.Sprint(n), func(t *testing.T) {
				t.Parallel()
				_, err := record(t, s, ref)
				require.NoError(t, err)
			})
		}
	})
	require.Equal(t, fmt.Sprint("depot-", observations-1), depot(t, s, "north", "shipment-1"), "the newest wins in any order")
	superseded := s.Count(t, `SELECT count(*) FROM oncehook.receipts WHERE cause = 'superseded'`)
	require.Equal(t, observations, superseded+s.Count(t, `SELECT count(*) FROM logistics.shipment_transitions`))
}
