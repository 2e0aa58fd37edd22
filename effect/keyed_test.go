package effect_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

var notify = effect.Keyed[input, output]("test.notify", 24*time.Hour) //nolint:gochecknoglobals // declared as in activities

// downstream honours the idempotency key: it has one effect per key, and answers
// a repeated call as it answered the first.
type downstream struct {
	*httptest.Server
	mu      sync.Mutex
	calls   []http.Header
	effects map[string]int
	// answer may answer instead, with the number of the call; false lets it pass.
	answer func(w http.ResponseWriter, call int) bool
}

func newDownstream(t *testing.T, answer func(w http.ResponseWriter, call int) bool) *downstream {
	t.Helper()
	d := &downstream{effects: map[string]int{}, answer: answer}
	d.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		_, _ = io.Copy(io.Discard, r.Body)
		d.calls = append(d.calls, r.Header.Clone())
		if d.answer != nil && d.answer(w, len(d.calls)) {
			return
		}
		d.effects[r.Header.Get("Idempotency-Key")]++
		w.WriteHeader(http.StatusCreated)
	}))
	t.Cleanup(d.Close)
	return d
}

func (d *downstream) seen() (calls int, keys []string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for key := range d.effects {
		keys = append(keys, key)
	}
	slices.Sort(keys)
	return len(d.calls), keys
}

// call is a Keyed effect as engineers write it.
func call(client *http.Client, place effect.Destination) func(context.Context, input) (output, error) {
	return func(ctx context.Context, in input) (output, error) {
		request, err := place.NewRequest(ctx, http.MethodPost, strings.NewReader(in.Word))
		if err != nil {
			return output{}, err
		}
		response, err := client.Do(request)
		if err != nil {
			return output{}, err
		}
		defer response.Body.Close()
		return output{Key: effect.IdempotencyKey(ctx)}, effect.CheckResponse(response)
	}
}

// runKeyed runs the flow with notify's function.
func (h house) runKeyed(t testing.TB, ref oncehook.Ref, f flow, fn func(context.Context, input) (output, error), options ...effect.Option) error {
	t.Helper()
	r, err := effect.NewRegistry([]effect.Declared{notify}, []effect.Binding{notify.Bind(fn)})
	require.NoError(t, err)
	env := h.flow(t, f, r, options...)
	env.ExecuteWorkflow("Flow", ref)
	require.True(t, env.IsWorkflowCompleted())
	return env.GetWorkflowError()
}

func guarded() *http.Client { return &http.Client{Transport: effect.Transport(&http.Transport{})} }

func send(ctx workflow.Context, _ oncehook.Ref) error {
	_, err := notify.Do(ctx, input{Word: "hello"})
	return err
}

func TestAKeyedEffectCarriesItsKeyAndHappensOnce(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		d := newDownstream(t, nil)
		fn := call(guarded(), effect.Destination{Name: "notices", URL: d.URL, Token: oncehook.Secret("a-token")})
		require.NoError(t, h.runKeyed(t, ref, send, fn))
		key := ref.EventKey + ":test.notify"
		_, keys := d.seen()
		require.Equal(t, []string{key}, keys)
		require.Equal(t, key, d.calls[0].Get("Idempotency-Key"))
		require.Equal(t, ref.CorrelationID, d.calls[0].Get("Oncehook-Correlation-Id"))
		require.Equal(t, "Bearer a-token", d.calls[0].Get("Authorization"))
		state, _, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.StateSucceeded, state)
		require.Equal(t, 1, h.Count(t, `SELECT count(*) FROM oncehook.actions WHERE kind = 'keyed' AND state = 'done' AND first_sent_at IS NOT NULL AND NOT unanswered`))

		var again output
		require.NoError(t, h.runKeyed(t, ref, func(ctx workflow.Context, _ oncehook.Ref) error {
			var err error
			again, err = notify.Do(ctx, input{})
			return err
		}, fn))
		require.Equal(t, key, again.Key, "the stored result")
		calls, _ := d.seen()
		require.Equal(t, 1, calls)
	})
}

func TestEveryAnswerOfADownstreamEndsAsSaid(t *testing.T) {
	t.Parallel()
	status := func(codes ...int) func(http.ResponseWriter, int) bool {
		return func(w http.ResponseWriter, call int) bool {
			code := codes[min(call, len(codes))-1]
			if code == http.StatusCreated {
				return false
			}
			w.WriteHeader(code)
			return true
		}
	}
	lost := func(w http.ResponseWriter, _ int) bool { panic(http.ErrAbortHandler) }
	cases := map[string]struct {
		answer func(http.ResponseWriter, int) bool
		state  oncehook.State
		cause  string
		action oncehook.ActionState
		calls  int
	}{
		"taken":                         {nil, oncehook.StateSucceeded, "finished", oncehook.ActionDone, 1},
		"refused":                       {status(422), oncehook.StateDeadLettered, "permanent", oncehook.ActionFailed, 1},
		"busy, then taken":              {status(429, 503, 409, 201), oncehook.StateSucceeded, "finished", oncehook.ActionDone, 4},
		"always busy":                   {status(429), oncehook.StateDeadLettered, "retries_exhausted", oncehook.ActionFailed, 10},
		"always broken":                 {status(500), oncehook.StateDeadLettered, "retries_exhausted", oncehook.ActionUncertain, 10},
		"under way elsewhere, for ever": {status(409), oncehook.StateDeadLettered, "retries_exhausted", oncehook.ActionUncertain, 10},
		"never an answer":               {lost, oncehook.StateDeadLettered, "retries_exhausted", oncehook.ActionUncertain, 10},
		"broken, then refused":          {status(500, 401), oncehook.StateDeadLettered, "permanent", oncehook.ActionUncertain, 2},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			both(t, func(t *testing.T, h house, ref oncehook.Ref) {
				d := newDownstream(t, c.answer)
				d.Config.ErrorLog = nil
				_ = h.runKeyed(t, ref, send, call(guarded(), effect.Destination{URL: d.URL}))
				state, cause, _ := h.End(t, ref.ReceiptID)
				require.Equal(t, c.state, state)
				require.Equal(t, c.cause, cause)
				action, attempts, _ := h.actionState(t, ref, "test.notify")
				require.Equal(t, c.action, action)
				calls, keys := d.seen()
				require.Equal(t, c.calls, calls)
				require.Equal(t, c.calls, attempts)
				require.LessOrEqual(t, len(keys), 1)
			})
		})
	}
}

func TestWhatNeverConnectedIsNotUncertain(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		d := newDownstream(t, nil)
		d.Close()
		require.Error(t, h.runKeyed(t, ref, send, call(guarded(), effect.Destination{URL: d.URL})))
		action, _, _ := h.actionState(t, ref, "test.notify")
		require.Equal(t, oncehook.ActionFailed, action)
	})
}

func TestRetryAfterOfADownstreamIsHonoured(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		d := newDownstream(t, func(w http.ResponseWriter, call int) bool {
			if call > 1 {
				return false
			}
			w.Header().Set("Retry-After", strconv.Itoa(20*60))
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		})
		var began, ended time.Time
		require.NoError(t, h.runKeyed(t, ref, func(ctx workflow.Context, ref oncehook.Ref) error {
			began = workflow.Now(ctx)
			err := send(ctx, ref)
			ended = workflow.Now(ctx)
			return err
		}, call(guarded(), effect.Destination{URL: d.URL})))
		require.GreaterOrEqual(t, ended.Sub(began), 20*time.Minute)
	})
}

func TestAMissingDestinationNamesTheSetting(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		require.Error(t, h.runKeyed(t, ref, send, call(guarded(), effect.Destination{Name: "customer-notice"})))
		_, cause, detail := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.CausePermanent, cause)
		require.Equal(t, "destinations.customer-notice is not configured", detail)
		action, _, _ := h.actionState(t, ref, "test.notify")
		require.Equal(t, oncehook.ActionFailed, action)
	})
}

func TestNoURLIsInWhatIsStoredOfAnError(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		err := h.runKeyed(t, ref, send, call(guarded(), effect.Destination{URL: "http://127.0.0.1:1/hooks?secret=hunter2%22\u00e9"}))
		require.Error(t, err)
		require.NotContains(t, err.Error(), "hunter2")
		_, _, detail := h.End(t, ref.ReceiptID)
		require.NotContains(t, detail, "hunter2")
		_, _, lastError := h.actionState(t, ref, "test.notify")
		require.NotContains(t, lastError, "hunter2")
		require.Contains(t, lastError, "http://127.0.0.1:1")
	})
}

func TestARemoteEffectIsNoLocalActivity(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		err := h.runKeyed(t, ref, func(ctx workflow.Context, _ oncehook.Ref) error {
			ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{StartToCloseTimeout: time.Second})
			return workflow.ExecuteLocalActivity(ctx, notify.Name, input{}).Get(ctx, nil)
		}, func(context.Context, input) (output, error) { return output{}, nil })
		require.ErrorContains(t, err, "is remote")
	})
}

func TestAResultThatCannotBeKeptDoesNotUndoARemoteEffect(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		d := newDownstream(t, nil)
		fn := call(guarded(), effect.Destination{URL: d.URL})
		require.Error(t, h.runKeyed(t, ref, send, func(ctx context.Context, in input) (output, error) {
			_, err := fn(ctx, in)
			return output{Key: strings.Repeat("x", 70_000)}, err
		}))
		action, _, _ := h.actionState(t, ref, "test.notify")
		require.Equal(t, oncehook.ActionDone, action)
		_, cause, _ := h.End(t, ref.ReceiptID)
		require.Equal(t, oncehook.CausePermanent, cause)
		calls, _ := d.seen()
		require.Equal(t, 1, calls)
	})
}

func TestTwoEventsForOneBusinessFactSendOnce(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, first oncehook.Ref) {
		second := h.Queue(t, storetest.Event{ID: "event-2"})
		second.Local = first.Local
		d := newDownstream(t, nil)
		fn := call(guarded(), effect.Destination{URL: d.URL})
		settle := func(ctx workflow.Context, _ oncehook.Ref) error {
			out, err := notify.Do(ctx, input{}, effect.BusinessKey("invoice-42"))
			require.Equal(t, first.EventKey+":test.notify", out.Key)
			return err
		}
		require.NoError(t, h.runKeyed(t, first, settle, fn))
		require.NoError(t, h.runKeyed(t, second, settle, fn))
		calls, _ := d.seen()
		require.Equal(t, 1, calls)
		state, _, _ := h.actionState(t, second, "test.notify")
		require.Equal(t, oncehook.ActionAlreadyDone, state)
	})
}

func TestAnAttemptThatWaitsForItsPredecessorSpendsNothing(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, h house, ref oncehook.Ref) {
		d := newDownstream(t, nil)
		// A predecessor that died without a word after it had sent.
		_, err := h.DB.Exec(t.Context(), `UPDATE oncehook.receipts SET state = 'processing', version = version + 1`)
		require.NoError(t, err)
		_, err = h.DB.Exec(t.Context(), `
			INSERT INTO oncehook.actions (receipt_id, name, key, tenant, kind, state, run_no, idempotency_key, lease_until, unanswered,
				first_sent_at, key_expires_at, created_at, changed_at)
			SELECT id, 'test.notify', key, tenant, 'keyed', 'running', 1, key || ':test.notify', now() + interval '1 minute', true,
				now(), now() + interval '1 day', now(), now() FROM oncehook.receipts`)
		require.NoError(t, err)
		var refused int
		fn := call(guarded(), effect.Destination{URL: d.URL})
		attempt := func() error {
			return h.runKeyed(t, ref, func(ctx workflow.Context, ref oncehook.Ref) error {
				return send(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2}}), ref)
			}, fn, effect.OnAttempt(func(ctx context.Context, _, outcome string) {
				if outcome != oncehook.FailureUnavailable {
					return
				}
				if refused++; refused == 5 {
					_, err := h.DB.Exec(ctx, `UPDATE oncehook.actions SET lease_until = now()`)
					require.NoError(t, err)
				}
			}))
		}
		require.NoError(t, attempt())
		require.Equal(t, 5, refused)
		_, attempts, _ := h.actionState(t, ref, "test.notify")
		require.Equal(t, 2, attempts)
	})
}
