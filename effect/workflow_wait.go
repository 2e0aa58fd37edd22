package effect

import (
	"errors"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
)

// DefaultWait is how long a run waits for what an action finds missing, or for a
// person's word on an uncertain one, where the call does not say.
const DefaultWait = 72 * time.Hour

// WaitUpTo bounds how long the run waits when the action finds that something
// must exist first (NotYet), or is uncertain. Then the run ends as a dead letter.
func WaitUpTo(d time.Duration) CallOption { return func(c *call) { c.wait = d } }

// A waiting run looks again by itself, at ever longer intervals: what it waits for
// may come about in a way that wakes nobody.
const (
	firstLook = time.Minute
	mostLook  = time.Hour
)

// attempts makes the attempts of one call between its waits.
type attempts struct {
	run  *run
	name string
	// until is when the run gives up.
	until time.Time
	// make schedules an attempt, and Temporal's retries of it.
	make func(ctx workflow.Context) workflow.Future
	// seen is how many wake-ups of the whole run this call has seen.
	seen int
}

// start makes the first attempt at once. The future that it returns is ready when
// an attempt has ended otherwise than by a wait, when the wait is over, or when
// ctx is cancelled.
func (a *attempts) start(ctx workflow.Context) workflow.Future {
	a.seen = a.run.wokenAll
	first := a.make(ctx)
	future, settable := workflow.NewFuture(ctx)
	workflow.Go(ctx, func(ctx workflow.Context) {
		attempt := first
		for look := firstLook; ; look = min(2*look, mostLook) {
			err := attempt.Get(ctx, nil)
			failureType, waits := waitOf(err)
			left := a.until.Sub(workflow.Now(ctx))
			if !waits || left <= 0 {
				settable.Chain(attempt)
				return
			}
			if failureType == oncehook.FailureUncertain {
				look = left // nothing but a person's word changes it
			}
			if err := a.wait(ctx, min(look, left), err); err != nil {
				settable.SetError(err)
				return
			}
			attempt = a.make(ctx)
		}
	})
	return future
}

// waitOf reports whether an attempt ended so that the run waits, and its type.
func waitOf(err error) (string, bool) {
	failure, ok := errors.AsType[*temporal.ApplicationError](err)
	if !ok || !failure.NonRetryable() {
		return "", false
	}
	switch failure.Type() {
	case oncehook.FailureNotYet, oncehook.FailureUncertain:
		return failure.Type(), true
	}
	return "", false
}

// Wake is the argument of the signal oncehook.wake. It is in histories and may
// only grow.
type Wake struct {
	// Action is whose wait ends; "" is every wait of the run.
	Action string `json:"action,omitempty"`
}

// wait returns nil when the action is woken or the time is over, or the error of
// a cancelled ctx.
func (a *attempts) wait(ctx workflow.Context, left time.Duration, why error) error {
	r := a.run
	r.listen(ctx)
	_, err := workflow.AwaitWithOptions(ctx, workflow.AwaitOptions{
		Timeout: left, TimerOptions: workflow.TimerOptions{Summary: a.name + " " + messageOf(why)},
	}, func() bool { return r.woken[a.name] > 0 || r.wokenAll > a.seen })
	// A wake-up that came before the wait counts: it is for what the attempt had
	// not yet seen.
	delete(r.woken, a.name)
	a.seen = r.wokenAll
	return err
}

func messageOf(err error) string {
	if failure, ok := errors.AsType[*temporal.ApplicationError](err); ok {
		const most = 120
		if text := []rune(failure.Message()); len(text) > most {
			return string(text[:most]) + "…"
		}
		return failure.Message()
	}
	return ""
}

// listen receives wake-ups from the first wait on. Earlier ones are in the channel.
func (r *run) listen(ctx workflow.Context) {
	if r.woken != nil {
		return
	}
	r.woken = map[string]int{}
	detached, _ := workflow.NewDisconnectedContext(ctx)
	workflow.Go(detached, func(ctx workflow.Context) {
		signals := workflow.GetSignalChannel(ctx, oncehook.SignalWake)
		for {
			var w Wake
			signals.Receive(ctx, &w)
			if w.Action == "" {
				r.wokenAll++
				continue
			}
			r.woken[w.Action]++
		}
	})
}
