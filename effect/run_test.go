package effect_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func TestAnEventHasItsEffectOnceAndEndsSucceeded(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var ended []oncehook.State
		var seen effect.StoredEvent
		err := h.run(t, ref, do, func(ctx context.Context, in input) (output, error) {
			seen = effect.Event(ctx)
			require.Equal(t, "hello", in.Word)
			require.Len(t, effect.ShortIdempotencyKey(ctx), 55)
			require.WithinDuration(t, time.Now(), effect.Now(ctx), time.Minute)
			return perform(ctx, in)
		}, effect.OnEnd(func(_ context.Context, s oncehook.State) { ended = append(ended, s) }))
		require.NoError(t, err)
		require.Equal(t, 1, h.effects(t))
		require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM public.effects WHERE key = $1`, ref.EventKey+":test.write"))
		require.JSONEq(t, `{"id":"event-1"}`, string(seen.Body))
		require.Equal(t, "sender", seen.Principal)
		state, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.StateSucceeded, state)
		require.Equal(t, oncehook.CauseFinished, cause)
		require.Equal(t, []oncehook.State{oncehook.StateSucceeded}, ended)

		// The same run again, as after a lost answer: nothing happens twice, and
		// the result is the stored one.
		var result output
		require.NoError(t, h.run(t, ref, func(ctx workflow.Context, _ oncehook.Ref) error {
			var err error
			result, err = write.Do(ctx, input{})
			return err
		}, perform))
		require.Equal(t, ref.EventKey+":test.write", result.Key)
		require.Equal(t, 1, h.effects(t))
		require.Equal(t, 4, h.Count(t, `SELECT count(*) FROM oncehook.receipt_history`))
	})
}

func TestEveryOutcomeEndsTheReceiptAsSaid(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		err      error
		state    oncehook.State
		cause    string
		detail   string
		action   oncehook.ActionState
		attempts int
	}{
		"ignore":      {oncehook.Ignore("a test shipment"), oncehook.StateIgnored, "ignored", "a test shipment", oncehook.ActionDone, 1},
		"superseded":  {oncehook.Superseded("a newer one"), oncehook.StateIgnored, "superseded", "a newer one", oncehook.ActionSuperseded, 1},
		"permanent":   {oncehook.Permanent(errors.New("no such depot")), oncehook.StateDeadLettered, "permanent", "no such depot", oncehook.ActionFailed, 1},
		"any error":   {errors.New("closed"), oncehook.StateDeadLettered, "retries_exhausted", "closed", oncehook.ActionFailed, 10},
		"retry after": {oncehook.RetryAfter(errors.New("busy"), time.Minute), oncehook.StateDeadLettered, "retries_exhausted", "busy", oncehook.ActionFailed, 10},
		"not yet":     {oncehook.NotYet("invoice-42"), oncehook.StateDeadLettered, "wait_expired", "waits for invoice-42", oncehook.ActionFailed, 78},
		"uncertain":   {oncehook.Uncertain(errors.New("hm")), oncehook.StateDeadLettered, "retries_exhausted", "hm", oncehook.ActionFailed, 10},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, h house, ref oncehook.Ref) {
				err := h.run(t, ref, do, func(ctx context.Context, in input) (output, error) {
					out, err := perform(ctx, in)
					require.NoError(t, err)
					return out, c.err
				})
				state, cause, detail := h.End(t, ref.ReceiptID)
				require.Equal(t, c.state, state)
				require.Equal(t, c.cause, cause)
				require.Equal(t, c.detail, detail)
				require.Zero(t, h.effects(t), "what a failed attempt wrote is undone")
				action, attempts, _ := h.actionState(t, ref, "test.write")
				require.Equal(t, c.action, action)
				require.Equal(t, c.attempts, attempts)
				if c.state == oncehook.StateDeadLettered {
					require.Error(t, err, "the Temporal UI shows a dead letter as failed")
				} else {
					require.NoError(t, err)
				}
			})
		})
	}
}

func TestFailuresAreRetriedUntilOneSucceeds(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var calls atomic.Int32
		var outcomes []string
		err := h.run(t, ref, do, func(ctx context.Context, in input) (output, error) {
			out, err := perform(ctx, in)
			require.NoError(t, err)
			switch calls.Add(1) {
			case 1:
				return out, errors.New("closed")
			case 2:
				panic("on purpose")
			}
			return out, nil
		}, effect.OnAttempt(func(_ context.Context, _, outcome string) { outcomes = append(outcomes, outcome) }))
		require.NoError(t, err)
		require.Equal(t, 1, h.effects(t))
		action, attempts, lastError := h.actionState(t, ref, "test.write")
		require.Equal(t, oncehook.ActionDone, action)
		require.Equal(t, 3, attempts)
		require.Equal(t, "panic: on purpose", lastError)
		require.Equal(t, []string{"oncehook.retryable", "oncehook.panic", "done"}, outcomes)
	})
}

func TestAnActionIsCalledOncePerRun(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		err := h.run(t, ref, func(ctx workflow.Context, ref oncehook.Ref) error {
			return errors.Join(do(ctx, ref), do(ctx, ref))
		}, perform)
		require.ErrorContains(t, err, "action test.write was called before in this run")
		require.Equal(t, 1, h.effects(t))
		state, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.StateDeadLettered, state)
		require.Equal(t, oncehook.CauseWorkflowFailed, cause)
	})
}

func TestCallByNameIsTheSame(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		require.NoError(t, h.run(t, ref, func(ctx workflow.Context, _ oncehook.Ref) error {
			ctx = effect.WithCall(ctx, effect.BusinessKey("invoice-42"))
			// Not the declared type, but the same JSON.
			return workflow.ExecuteActivity(ctx, write.Name, map[string]string{"word": "hello"}).Get(ctx, nil)
		}, func(ctx context.Context, in input) (output, error) {
			require.Equal(t, "hello", in.Word)
			return perform(ctx, in)
		}))
		require.Equal(t, 1, h.effects(t))
		require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM oncehook.actions WHERE business_key = 'invoice-42'`))
	})
}

func TestTwoEventsForOneBusinessFactHaveOneEffect(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, first oncehook.Ref) {
		second := h.Queue(t, storetest.Event{ID: "event-2"})
		second.Local = first.Local
		settle := func(ctx workflow.Context, _ oncehook.Ref) error {
			out, err := write.Do(ctx, input{}, effect.BusinessKey("invoice-42"), effect.Summary("settles an invoice"))
			require.Equal(t, first.EventKey+":test.write", out.Key)
			return err
		}
		require.NoError(t, h.run(t, first, settle, perform))
		require.NoError(t, h.run(t, second, settle, perform))
		require.Equal(t, 1, h.effects(t))
		state, _, _ := h.actionState(t, second, "test.write")
		require.Equal(t, oncehook.ActionAlreadyDone, state)
	})
}

func TestTheEngineersOptionsStay(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		err := h.run(t, ref, func(ctx workflow.Context, ref oncehook.Ref) error {
			return do(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
				StartToCloseTimeout: 5 * time.Second, RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2, InitialInterval: time.Millisecond},
			}), ref)
		}, func(context.Context, input) (output, error) { return output{}, errors.New("closed") })
		require.Error(t, err)
		_, attempts, _ := h.actionState(t, ref, "test.write")
		require.Equal(t, 2, attempts)
	})
}

func TestARunThatFailsByItselfIsADeadLetter(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		err := h.run(t, ref, func(workflow.Context, oncehook.Ref) error { return errors.New("a bug" + strings.Repeat("!", 5000)) }, perform)
		require.Error(t, err)
		state, cause, detail := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.StateDeadLettered, state)
		require.Equal(t, oncehook.CauseWorkflowFailed, cause)
		require.LessOrEqual(t, len(detail), 1024)
	})
}

func TestARunWithoutEffectsEndsSucceeded(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		require.NoError(t, h.run(t, ref, func(workflow.Context, oncehook.Ref) error { return nil }, perform))
		state, _, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.StateSucceeded, state)
	})
}

func TestACancelledRunIsADeadLetter(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		err := h.run(t, ref, func(ctx workflow.Context, _ oncehook.Ref) error {
			ctx, cancel := workflow.WithCancel(ctx)
			cancel()
			return workflow.Sleep(ctx, time.Hour)
		}, perform)
		require.Error(t, err)
		_, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.CauseCancelled, cause)
	})
}

func TestTheEndWaitsForCallsThatNobodyAwaits(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		require.NoError(t, h.run(t, ref, func(ctx workflow.Context, _ oncehook.Ref) error {
			workflow.ExecuteActivity(ctx, write.Name, input{})
			return nil
		}, perform))
		require.Equal(t, 1, h.effects(t))
		state, _, _ := h.actionState(t, ref, "test.write")
		require.Equal(t, oncehook.ActionDone, state)
	})
}

func TestAnAttemptOfAnEarlierRunDoesNothing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		_, err := h.Work.Finish(t.Context(), store.Finish{
			ReceiptID: mustParse(t, ref.ReceiptID), RunNo: 1, State: oncehook.StateDeadLettered, Cause: "test",
		})
		require.NoError(t, err)
		require.Error(t, h.run(t, ref, do, perform))
		require.Zero(t, h.effects(t))
		_, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, "test", cause)
	})
}

func TestAWorkflowWithoutARefIsLeftAlone(t *testing.T) {
	t.Parallel()
	h := openHouse(t)
	h.Queue(t, storetest.Event{ID: "event-1"})
	run := h.environment(t, func(ctx workflow.Context, _ string) error {
		_, err := write.Do(ctx, input{})
		require.ErrorContains(t, err, "does not come from a workflow that takes an oncehook.Ref")
		return nil
	}, perform)
	require.NoError(t, run("hello"))
	require.Zero(t, h.effects(t))
	require.Zero(t, h.Count(t, `SELECT count(*) FROM oncehook.receipts WHERE state = 'succeeded'`))
}

func TestResultThatCannotBeStoredIsPermanent(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		require.Error(t, h.run(t, ref, do, func(ctx context.Context, in input) (output, error) {
			_, err := perform(ctx, in)
			return output{Key: strings.Repeat("x", store.MaxResult)}, err
		}))
		require.Zero(t, h.effects(t))
		_, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.CausePermanent, cause)
	})
}

func TestTxDiesWithItsAttempt(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		var kept effect.Querier
		require.NoError(t, h.run(t, ref, do, func(ctx context.Context, in input) (output, error) {
			kept = effect.Tx(ctx)
			return perform(ctx, in)
		}))
		requireNoTx(t, kept)
		requireNoTx(t, effect.Tx(t.Context()))
		require.Empty(t, effect.IdempotencyKey(t.Context()))
		require.Empty(t, effect.ShortIdempotencyKey(t.Context()))
		require.Zero(t, effect.Event(t.Context()).ReceiptID)
	})
}

func requireNoTx(t *testing.T, tx effect.Querier) {
	t.Helper()
	_, err := tx.Exec(t.Context(), "SELECT 1")
	require.ErrorIs(t, err, effect.ErrNoTx)
	_, err = tx.Query(t.Context(), "SELECT 1") //nolint:sqlclosecheck // there are no rows
	require.ErrorIs(t, err, effect.ErrNoTx)
	require.ErrorIs(t, tx.QueryRow(t.Context(), "SELECT 1").Scan(), effect.ErrNoTx)
}

func TestCancellationFromOutsideEndsARetriedAction(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		attempted := make(chan struct{}, 10)
		err := h.run(t, ref, func(ctx workflow.Context, ref oncehook.Ref) error {
			ctx, cancel := workflow.WithCancel(ctx)
			workflow.Go(ctx, func(ctx workflow.Context) {
				_ = workflow.Sleep(ctx, 20*time.Minute) // skipped once the attempt is over
				cancel()
			})
			return do(ctx, ref)
		}, func(context.Context, input) (output, error) {
			attempted <- struct{}{}
			return output{}, oncehook.RetryAfter(errors.New("busy"), 30*time.Minute)
		})
		require.Error(t, err)
		_, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.CauseCancelled, cause)
		require.Len(t, attempted, 1)
		state, _, _ := h.actionState(t, ref, "test.write")
		require.Equal(t, oncehook.ActionFailed, state, "the end of the run closes it")
	})
}
