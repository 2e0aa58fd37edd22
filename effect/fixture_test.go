package effect_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

// house is a database with its roles, and a table that effects write.
type house struct{ *storetest.Store }

func openHouse(t testing.TB) house {
	t.Helper()
	h := house{storetest.Open(t, nil)}
	_, err := h.DB.Exec(t.Context(), `CREATE TABLE public.effects (key text)`)
	require.NoError(t, err)
	return h
}

func (h house) effects(t testing.TB) int {
	t.Helper()
	return h.Count(t, `SELECT count(*) FROM public.effects`)
}

// actionState returns an action's state, attempts and last error.
func (h house) actionState(t testing.TB, ref oncehook.Ref, name string) (oncehook.ActionState, int, string) {
	t.Helper()
	rows, err := h.DB.Query(t.Context(), `
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
	env := h.flow(t, f, registry(t, write.Bind(fn)), options...)
	return func(args ...any) error {
		env.ExecuteWorkflow("Flow", args...)
		require.True(t, env.IsWorkflowCompleted())
		return env.GetWorkflowError()
	}
}

// flow makes a test environment of one workflow, "Flow".
func (h house) flow(t testing.TB, f any, r *effect.Registry, options ...effect.Option) *testsuite.TestWorkflowEnvironment {
	t.Helper()
	var suite testsuite.WorkflowTestSuite
	suite.SetLogger(log.NewStructuredLogger(slog.New(slog.DiscardHandler)))
	suite.SetDisableRegistrationAliasing(true)
	env := suite.NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	options = append([]effect.Option{effect.WithLog(slog.New(slog.DiscardHandler))}, options...)
	env.SetWorkerOptions(effect.WorkerOptions(worker.Options{
		Interceptors: []interceptor.WorkerInterceptor{r.WorkerInterceptor(h.Work, options...)},
		// A busy machine is no deadlock.
		DeadlockDetectionTimeout: time.Minute,
	}))
	r.Register(env)
	env.RegisterWorkflowWithOptions(f, workflow.RegisterOptions{Name: "Flow"})
	return env
}

// both runs a test with Local effects as local and as regular activities.
func both(t *testing.T, test func(t *testing.T, h house, ref oncehook.Ref)) {
	t.Helper()
	for name, local := range map[string]bool{"local": true, "regular": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := openHouse(t)
			ref := h.Queue(t, storetest.Event{ID: "event-1"})
			ref.Local = local
			test(t, h, ref)
		})
	}
}

func do(ctx workflow.Context, _ oncehook.Ref) error {
	_, err := write.Do(ctx, input{Word: "hello"})
	return err
}
