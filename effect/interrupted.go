package effect

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/worker"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// A worker that stops first lets its attempts end by themselves. Then it cancels
// their contexts with the cause worker.ErrWorkerShutdown. Such an attempt proves
// nothing about its effect, so it hands its place in the count back: a deployment
// must not exhaust an action.

const (
	// claimGrace lets a claim that is under way end after its worker has stopped:
	// one that was broken off might count an attempt that nobody knows of.
	claimGrace = time.Second
	// handBackTimeout is below what a stopping process waits for its attempts.
	handBackTimeout = 1200 * time.Millisecond
)

// stopped reports whether it is the worker that ended the attempt, and not its
// run or its time.
func stopped(ctx context.Context) bool {
	return ctx.Err() != nil && errors.Is(context.Cause(ctx), worker.ErrWorkerShutdown)
}

// interrupted reports whether the worker's stop broke the attempt off. What the
// effect said of its outcome stands, and so does what it has done; a panic is its own.
func interrupted(ctx context.Context, err error) bool {
	if err == nil || !stopped(ctx) || errors.Is(err, store.ErrFenced) {
		return false
	}
	_, outcome := oncehook.AsOutcome(err)
	_, panicked := errors.AsType[*panicError](err)
	_, done := errors.AsType[recorded](err)
	_, lost := errors.AsType[unrecorded](err)
	return !outcome && !panicked && !done && !lost
}

// claim claims the action, unless its worker has stopped.
func (a *activityInbound) claim(ctx context.Context, request store.ClaimRequest) (store.Claim, error) {
	if stopped(ctx) {
		return store.Claim{}, context.Cause(ctx)
	}
	detached, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	defer context.AfterFunc(ctx, func() {
		if !stopped(ctx) {
			cancel()
			return
		}
		select {
		case <-time.After(claimGrace):
			cancel()
		case <-detached.Done():
		}
	})()
	return a.work.ClaimAction(detached, request)
}

// handBack gives an interrupted attempt back and returns what Temporal is told.
// What cannot be given back counts, as after a crash. answered says that nothing
// which it sent can have had an effect.
func (a *activityInbound) handBack(ctx context.Context, claim store.Claim, answered bool) error {
	a.attempted(ctx, claim.Name, "interrupted")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), handBackTimeout)
	defer cancel()
	if err := a.work.HandBack(ctx, claim, answered); err != nil {
		a.log.WarnContext(ctx, "an attempt that the stop broke off counts", "action", claim.Name, "receipt_id", claim.ReceiptID.String(), "error", err.Error())
	}
	return failure{errType: oncehook.FailureUnavailable, text: "the worker stopped during this attempt; another one makes it again", delay: leastDelay}.asTemporal()
}
