package effect_test

import (
	"context"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

var keys = sync.OnceValue(func() *keyring.Keyring { //nolint:gochecknoglobals // one installation per test binary
	identity, keyset, err := keyring.Generate()
	if err != nil {
		panic(err)
	}
	k, err := keyring.Load(identity, keyset)
	if err != nil {
		panic(err)
	}
	return k
})

func options(url string) store.Options {
	return store.Options{URL: url, Keyring: keys(), Log: slog.New(slog.DiscardHandler)}
}

// house is a database with its roles.
type house struct {
	ingress *store.Ingress
	work    *store.Work
	db      *pgxpool.Pool
}

func openHouse(t testing.TB) house {
	t.Helper()
	url := pgtest.Template(t, "store", func(url string) error { return store.Migrate(context.Background(), options(url)) })
	ingress, err := store.OpenIngress(t.Context(), options(url))
	require.NoError(t, err)
	t.Cleanup(ingress.Close)
	work, err := store.OpenWork(t.Context(), options(url))
	require.NoError(t, err)
	t.Cleanup(work.Close)
	db, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	_, err = db.Exec(t.Context(), `CREATE TABLE public.effects (key text)`)
	require.NoError(t, err)
	return house{ingress, work, db}
}

// queued accepts an event and claims its start.
func (h house) queued(t testing.TB, id string) oncehook.Ref {
	t.Helper()
	key, err := keys().Identity().Key("logistics", "north", id, false)
	require.NoError(t, err)
	compared := []byte(`{"depot":"depot-7"}`)
	fingerprints, err := keys().Fingerprints(compared)
	require.NoError(t, err)
	_, err = h.ingress.Accept(t.Context(), []store.Candidate{{
		Key: key, ReceiptID: uuid.Must(uuid.NewV7()), CorrelationID: uuid.New(), Source: "logistics",
		Event: oncehook.Event{
			ID: id, Tenant: "north", Type: "shipment.depot_arrival", OccurredAt: time.Now(), Compared: compared, Body: []byte(`{"id":"` + id + `"}`),
		},
		Fingerprints: fingerprints, Workflow: "Flow", Retention: "standard", Principal: "sender", CredentialVersion: "1", Peer: "192.0.2.7",
	}})
	require.NoError(t, err)
	starts, err := h.work.ClaimStarts(t.Context(), store.ClaimLimits{Batch: 1, PerSource: 1, InFlight: 100, Lease: time.Minute})
	require.NoError(t, err)
	require.Len(t, starts, 1)
	require.NoError(t, h.work.MarkStarted(t.Context(), starts[0].OutboxID, "run"))
	return starts[0].Ref
}

func (h house) count(t testing.TB, query string, args ...any) int {
	t.Helper()
	var n int
	require.NoError(t, h.db.QueryRow(t.Context(), query, args...).Scan(&n))
	return n
}

func (h house) effects(t testing.TB) int {
	t.Helper()
	return h.count(t, `SELECT count(*) FROM public.effects`)
}

// end returns the receipt's state and cause, and the detail of its last transition.
func (h house) end(t testing.TB, ref oncehook.Ref) (oncehook.State, string, string) {
	t.Helper()
	var (
		state         oncehook.State
		cause, detail string
	)
	require.NoError(t, h.db.QueryRow(t.Context(), `
		SELECT r.state, r.cause, coalesce(h.detail, '') FROM oncehook.receipts r
		JOIN oncehook.receipt_history h ON h.receipt_id = r.id AND h.version = r.version WHERE r.id = $1`, ref.ReceiptID).Scan(&state, &cause, &detail))
	return state, cause, detail
}

// actionState returns an action's state, attempts and last error.
func (h house) actionState(t testing.TB, ref oncehook.Ref, name string) (oncehook.ActionState, int, string) {
	t.Helper()
	rows, err := h.db.Query(t.Context(), `
		SELECT state, attempts, coalesce(last_error, '') FROM oncehook.actions WHERE receipt_id = $1 AND name = $2`, ref.ReceiptID, name)
	require.NoError(t, err)
	type row struct {
		State    oncehook.ActionState
		Attempts int
		Error    string
	}
	r, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[row])
	require.NoError(t, err)
	return r.State, r.Attempts, r.Error
}

type input struct {
	Word string `json:"word"`
}

type output struct {
	Key string `json:"key"`
}

var write = effect.Local[input, output]("test.write") //nolint:gochecknoglobals // declared as in activities

// perform is the effect of write: counted in the business table.
func perform(ctx context.Context, _ input) (output, error) {
	_, err := effect.Tx(ctx).Exec(ctx, `INSERT INTO public.effects VALUES ($1)`, effect.IdempotencyKey(ctx))
	return output{Key: effect.IdempotencyKey(ctx)}, err
}

func registry(t testing.TB, bindings ...effect.Binding) *effect.Registry {
	t.Helper()
	r, err := effect.NewRegistry([]effect.Declared{write}, bindings)
	require.NoError(t, err)
	return r
}

// flow is a workflow as engineers write it.
type flow func(workflow.Context, oncehook.Ref) error

// run runs the flow in Temporal's test environment with the production interceptors.
func (h house) run(t testing.TB, ref oncehook.Ref, f flow, fn func(context.Context, input) (output, error), options ...effect.Option) error {
	t.Helper()
	return h.environment(t, f, fn, options...)(ref)
}

func (h house) environment(t testing.TB, f any, fn func(context.Context, input) (output, error), options ...effect.Option) func(args ...any) error {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	suite.SetDisableRegistrationAliasing(true)
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	r := registry(t, write.Bind(fn))
	options = append([]effect.Option{effect.WithLog(slog.New(slog.DiscardHandler))}, options...)
	env.SetWorkerOptions(effect.WorkerOptions(worker.Options{
		Interceptors: []interceptor.WorkerInterceptor{r.WorkerInterceptor(h.work, options...)},
	}))
	r.Register(env)
	env.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: "Flow"})
	return func(args ...any) error {
		env.ExecuteWorkflow("Flow", args...)
		require.True(t, env.IsWorkflowCompleted())
		return env.GetWorkflowError()
	}
}

// both runs a test with Local effects as local and as regular activities.
func both(t *testing.T, test func(t *testing.T, h house, ref oncehook.Ref)) {
	t.Helper()
	for name, local := range map[string]bool{"local": true, "regular": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := openHouse(t)
			ref := h.queued(t, "event-1")
			ref.Local = local
			test(t, h, ref)
		})
	}
}

func do(ctx workflow.Context, _ oncehook.Ref) error {
	_, err := write.Do(ctx, input{Word: "hello"})
	return err
}
