package effect_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

// waits is an effect that waits until the test lets it.
type waits struct {
	exists   atomic.Bool
	attempts atomic.Int32
}

func (w *waits) perform(ctx context.Context, in input) (output, error) {
	w.attempts.Add(1)
	out, err := perform(ctx, in)
	if err == nil && !w.exists.Load() {
		err = oncehook.NotYet("invoice-42")
	}
	return out, err
}

// waiting runs the flow with an effect that waits, and what happens meanwhile.
func (h house) waiting(t testing.TB, ref oncehook.Ref, w *waits, f flow, meanwhile func(env *testsuite.TestWorkflowEnvironment)) error {
	t.Helper()
	env := h.flow(t, f, registry(t, write.Bind(w.perform)))
	meanwhile(env)
	env.ExecuteWorkflow("Flow", ref)
	require.True(t, env.IsWorkflowCompleted())
	return env.GetWorkflowError()
}

// timed returns the flow and where it notes how long it took.
func timed(f flow) (flow, *time.Duration) {
	var took time.Duration
	return func(ctx workflow.Context, ref oncehook.Ref) error {
		began := workflow.Now(ctx)
		err := f(ctx, ref)
		took = workflow.Now(ctx).Sub(began)
		return err
	}, &took
}

func TestAWakeUpEndsAWait(t *testing.T) {
	t.Parallel()
	for name, argument := range map[string]effect.Wake{"of the action": {Action: "test.write"}, "of the whole run": {}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, h house, ref oncehook.Ref) {
				var w waits
				f, took := timed(do)
				require.NoError(t, h.waiting(t, ref, &w, f, func(env *testsuite.TestWorkflowEnvironment) {
					env.RegisterDelayedCallback(func() {
						require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM oncehook.actions WHERE waits_for = 'invoice-42' AND state = 'failed'`))
						w.exists.Store(true)
						env.SignalWorkflow(oncehook.SignalWake, argument)
					}, 30*time.Second)
				}))
				require.Equal(t, 30*time.Second, took.Round(time.Second))
				require.EqualValues(t, 2, w.attempts.Load())
				require.Equal(t, 1, h.effects(t))
				require.Equal(t, 1, h.Count(t, `SELECT run_attempts FROM oncehook.actions`), "a wait spends no attempt")
				state, _, _ := h.End(t, ref.ReceiptID)
				require.Equal(t, oncehook.StateSucceeded, state)
			})
		})
	}
}

func TestAWakeUpOfAnotherActionEndsNoWait(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var w waits
		require.Error(t, h.waiting(t, ref, &w, func(ctx workflow.Context, _ oncehook.Ref) error {
			_, err := write.Do(ctx, input{}, effect.WaitUpTo(50*time.Second))
			return err
		}, func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() { env.SignalWorkflow(oncehook.SignalWake, effect.Wake{Action: "test.other"}) }, 30*time.Second)
		}))
		require.EqualValues(t, 2, w.attempts.Load(), "the first, and one when the wait was over")
	})
}

func TestAWakeUpOfTheWholeRunEndsEveryWait(t *testing.T) {
	t.Parallel()
	other := effect.Local[input, output]("test.write_other")
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var w, o waits
		r, err := effect.NewRegistry([]effect.Declared{write, other}, []effect.Binding{write.Bind(w.perform), other.Bind(o.perform)})
		require.NoError(t, err)
		f, took := timed(func(ctx workflow.Context, _ oncehook.Ref) error {
			first, second := workflow.ExecuteActivity(ctx, write.Name, input{}), workflow.ExecuteActivity(ctx, other.Name, input{})
			return errors.Join(first.Get(ctx, nil), second.Get(ctx, nil))
		})
		env := h.flow(t, f, r)
		env.RegisterDelayedCallback(func() {
			w.exists.Store(true)
			o.exists.Store(true)
			env.SignalWorkflow(oncehook.SignalWake, effect.Wake{})
		}, 30*time.Second)
		env.ExecuteWorkflow("Flow", ref)
		require.NoError(t, env.GetWorkflowError())
		require.Equal(t, 30*time.Second, took.Round(time.Second))
	})
}

func TestAWakeUpThatComesBeforeTheWaitCounts(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var attempts atomic.Int32
		f, took := timed(do)
		env := h.flow(t, func(ctx workflow.Context, ref oncehook.Ref) error {
			if err := workflow.Sleep(ctx, time.Minute); err != nil {
				return err
			}
			return f(ctx, ref)
		}, registry(t, write.Bind(func(ctx context.Context, in input) (output, error) {
			if attempts.Add(1) == 1 {
				return output{}, oncehook.NotYet("invoice-42")
			}
			return perform(ctx, in)
		})))
		env.RegisterDelayedCallback(func() { env.SignalWorkflow(oncehook.SignalWake, effect.Wake{Action: "test.write"}) }, time.Second)
		env.ExecuteWorkflow("Flow", ref)
		require.NoError(t, env.GetWorkflowError())
		require.Less(t, *took, 30*time.Second)
	})
}

func TestAWaitingRunLooksAgainByItself(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var w waits
		f, took := timed(do)
		require.NoError(t, h.waiting(t, ref, &w, f, func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() { w.exists.Store(true) }, 100*time.Minute)
		}))
		require.Greater(t, *took, 100*time.Minute)
		require.LessOrEqual(t, *took, 160*time.Minute)
		require.Equal(t, 1, h.effects(t))
	})
}

func TestCancellationEndsAWait(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var w waits
		f, took := timed(do)
		require.Error(t, h.waiting(t, ref, &w, f, func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(env.CancelWorkflow, 30*time.Second)
		}))
		require.Equal(t, 30*time.Second, took.Round(time.Second))
		state, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.StateDeadLettered, state)
		require.Equal(t, oncehook.CauseCancelled, cause)
		require.Zero(t, h.Count(t, `SELECT count(*) FROM oncehook.actions WHERE waits_for IS NOT NULL OR outcome IS NULL`), "the end of the run ends the wait")
	})
}

func TestAWorkflowMayWaitElsewhereMeanwhile(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var w waits
		var first string
		require.NoError(t, h.waiting(t, ref, &w, func(ctx workflow.Context, _ oncehook.Ref) error {
			call := workflow.ExecuteActivity(ctx, write.Name, input{})
			timer := workflow.NewTimer(ctx, 10*time.Second)
			workflow.NewSelector(ctx).
				AddFuture(call, func(workflow.Future) { first = "the call" }).
				AddFuture(timer, func(workflow.Future) { first = "the timer" }).
				Select(ctx)
			return call.Get(ctx, nil)
		}, func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() {
				w.exists.Store(true)
				env.SignalWorkflow(oncehook.SignalWake, effect.Wake{Action: "test.write"})
			}, 30*time.Second)
		}))
		require.Equal(t, "the timer", first)
		require.Equal(t, 1, h.effects(t))
	})
}

func TestWhoeverFindsABusinessKeyHeldWaitsForItsHolder(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, first oncehook.Ref) {
		second := h.Queue(t, storetest.Event{ID: "event-2"})
		second.Local = first.Local
		_, err := h.DB.Exec(t.Context(), `UPDATE oncehook.receipts SET state = 'processing', version = version + 1 WHERE id = $1`, first.ReceiptID)
		require.NoError(t, err)
		_, err = h.DB.Exec(t.Context(), `
			INSERT INTO oncehook.actions (receipt_id, name, key, tenant, kind, state, run_no, idempotency_key, business_key, created_at, changed_at)
			SELECT id, 'test.write', key, tenant, 'keyed', 'uncertain', 1, key || ':test.write', 'invoice-42', now(), now()
			FROM oncehook.receipts WHERE id = $1`, first.ReceiptID)
		require.NoError(t, err)

		w := waits{}
		w.exists.Store(true)
		f, took := timed(func(ctx workflow.Context, _ oncehook.Ref) error {
			_, err := write.Do(ctx, input{}, effect.BusinessKey("invoice-42"))
			return err
		})
		require.NoError(t, h.waiting(t, second, &w, f, func(env *testsuite.TestWorkflowEnvironment) {
			env.RegisterDelayedCallback(func() {
				_, err := h.DB.Exec(context.Background(), `UPDATE oncehook.actions SET state = 'done' WHERE receipt_id = $1`, first.ReceiptID)
				require.NoError(t, err)
			}, 20*time.Hour)
		}))
		require.Greater(t, *took, 20*time.Hour, "longer than any budget of attempts")
		require.Zero(t, w.attempts.Load())
		state, _, _ := h.actionState(t, second, "test.write")
		require.Equal(t, oncehook.ActionAlreadyDone, state)
	})
}

func TestAFailureAfterAWaitIsAFailure(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var attempts atomic.Int32
		env := h.flow(t, flow(do), registry(t, write.Bind(func(context.Context, input) (output, error) {
			if attempts.Add(1) == 1 {
				return output{}, oncehook.NotYet("invoice-42")
			}
			return output{}, errors.New("closed")
		})))
		env.ExecuteWorkflow("Flow", ref)
		require.Error(t, env.GetWorkflowError())
		require.EqualValues(t, 1+10, attempts.Load(), "the wait is not counted")
		_, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.CauseRetriesExhausted, cause)
	})
}
