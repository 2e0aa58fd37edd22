package effect_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

func TestPastTheKeysLifeNothingIsSentAndTheRunWaits(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		d := newDownstream(t, nil)
		var attempts int
		fn := call(guarded(), effect.Destination{URL: d.URL})
		var began, ended time.Time
		err := h.runKeyed(t, ref, func(ctx workflow.Context, ref oncehook.Ref) error {
			began = workflow.Now(ctx)
			_, err := notify.Do(ctx, input{}, effect.WaitUpTo(10*time.Hour))
			ended = workflow.Now(ctx)
			return err
		}, func(ctx context.Context, in input) (output, error) {
			attempts++
			_, err := fn(ctx, in)
			require.NoError(t, err)
			// The answer is lost, and by the next attempt the downstream has forgotten.
			_, err = h.DB.Exec(ctx, `UPDATE oncehook.actions SET key_expires_at = now()`)
			require.NoError(t, err)
			return output{}, errors.New("the answer was lost")
		})
		require.Error(t, err)
		require.Equal(t, 1, attempts)
		calls, _ := d.seen()
		require.Equal(t, 1, calls)
		require.GreaterOrEqual(t, ended.Sub(began), 10*time.Hour)
		state, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.StateDeadLettered, state)
		require.Equal(t, oncehook.CauseKeyExpired, cause)
		action, _, _ := h.actionState(t, ref, "test.notify")
		require.Equal(t, oncehook.ActionUncertain, action)
	})
}

func TestAKeyThatExpiresWithinAnAttemptSendsNothingMore(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		d := newDownstream(t, nil)
		fn := call(guarded(), effect.Destination{URL: d.URL})
		require.Error(t, h.runKeyed(t, ref, send, func(ctx context.Context, in input) (output, error) {
			_, err := fn(ctx, in)
			require.NoError(t, err)
			_, err = h.DB.Exec(ctx, `UPDATE oncehook.actions SET key_expires_at = now()`)
			require.NoError(t, err)
			_, err = fn(ctx, in)
			require.Error(t, err)
			return output{}, oncehook.Permanent(err) // the function's view does not count
		}))
		calls, _ := d.seen()
		require.Equal(t, 1, calls)
		_, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.CauseKeyExpired, cause)
	})
}

func TestARequestIsNeverRepeatedBehindTheChecks(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		d := newDownstream(t, func(w http.ResponseWriter, call int) bool {
			if call == 1 {
				return false
			}
			panic(http.ErrAbortHandler) // a kept connection that breaks: net/http would try again
		})
		fn := call(guarded(), effect.Destination{URL: d.URL})
		require.Error(t, h.runKeyed(t, ref, func(ctx workflow.Context, ref oncehook.Ref) error {
			return send(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 1}}), ref)
		}, func(ctx context.Context, in input) (output, error) {
			_, err := fn(ctx, in)
			require.NoError(t, err)
			return fn(ctx, in)
		}))
		calls, _ := d.seen()
		require.Equal(t, 2, calls)
	})
}

func TestOutsideOfARemoteEffectNothingIsSent(t *testing.T) {
	t.Parallel()
	d := newDownstream(t, nil)
	place := effect.Destination{URL: d.URL}
	_, err := call(guarded(), place)(t.Context(), input{})
	require.ErrorIs(t, err, effect.ErrNotRemote)
	require.ErrorIs(t, effect.BeforeSend(t.Context()), effect.ErrNotRemote)

	h := openHouse(t)
	ref := h.Queue(t, storetest.Event{ID: "event-1"})
	require.Error(t, h.run(t, ref, do, func(ctx context.Context, in input) (output, error) { return call(guarded(), place)(ctx, in) }))
	_, cause, detail := h.End(t, ref.ReceiptID)
	require.Equal(t, oncehook.CausePermanent, cause, "a Local effect sends nothing")
	require.Contains(t, detail, "not in a remote effect")

	ref = h.Queue(t, storetest.Event{ID: "event-2"})
	var kept context.Context
	require.NoError(t, h.runKeyed(t, ref, send, func(ctx context.Context, _ input) (output, error) {
		kept = context.WithoutCancel(ctx)
		return output{}, nil
	}))
	require.ErrorIs(t, effect.BeforeSend(kept), effect.ErrNotRemote, "an attempt that is over sends nothing")
	calls, _ := d.seen()
	require.Zero(t, calls)
}
