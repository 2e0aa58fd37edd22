package effect

import (
	"context"
	"errors"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// This file is the one place that turns outcomes and errors into Temporal's.
// Each becomes an ApplicationError made last and never wrapped: the server looks
// at the outermost error alone, so a wrapped one would be retried for ever.
//
//	Ignore, Superseded           ends at once, not a failure
//	Permanent                    ends at once
//	RetryAfter                   retried, not before the delay, which is cut to the budget
//	NotYet                       ends the attempt, unspent; the run waits for a signal
//	                             or a timer and then makes another attempt
//	Uncertain                    retried within the budget: under the same key, or,
//	                             for a Local effect, after it was rolled back
//	the key's lifetime is over   ends the attempt; the run waits for a person
//	panic                        retried; the stack is in the log only
//	any other error              retried with full jitter
//	attempts or time used up     ends
//	another run, an ended run    ends
//	nothing was begun            retried, without spending an attempt

// failure is a classified error of an attempt.
type failure struct {
	errType string
	text    string
	// final says that no attempt follows; word is then stored with the action.
	final bool
	word  string
	delay time.Duration
	// unclaimed says that the attempt never began or was taken over: there is
	// nothing to record.
	unclaimed bool
	// recorded says that the action's end is written already.
	recorded bool
	// answered says that nothing which the attempt sent can have had an effect.
	answered bool
	// waitsFor is the business key of what must exist first.
	waitsFor string
}

// asWait makes the failure end its attempts, for the workflow to wait.
func (f failure) asWait() failure {
	f.final, f.word = true, ""
	f.errType = oncehook.FailureNotYet
	return f
}

func (f failure) asTemporal() error {
	options := temporal.ApplicationErrorOptions{NonRetryable: f.final, NextRetryDelay: f.delay}
	if f.errType == oncehook.FailureIgnored || f.errType == oncehook.FailureSuperseded {
		options.Category = temporal.ApplicationErrorCategoryBenign
	}
	if f.final {
		options.NextRetryDelay = 0
	}
	return temporal.NewApplicationErrorWithOptions(cut(f.text), f.errType, options)
}

// classify judges the error of an attempt that was claimed. spent says that the
// attempts are used up.
func classify(err error, b backoff, spent bool) failure {
	f := failure{errType: oncehook.FailureRetryable, text: withoutURL(err, err.Error()), delay: b.jittered()}
	if outcome, ok := oncehook.AsOutcome(err); ok {
		f.text = withoutURL(err, outcome.Reason)
		switch outcome.Kind {
		case oncehook.OutcomeIgnore:
			f.errType, f.final = oncehook.FailureIgnored, true
			return f
		case oncehook.OutcomeSuperseded:
			f.errType, f.final = oncehook.FailureSuperseded, true
			return f
		case oncehook.OutcomePermanent:
			f.errType, f.final, f.word = oncehook.FailurePermanent, true, store.WordPermanent
			return f
		case oncehook.OutcomeRetryAfter:
			f.delay = max(f.delay, outcome.After)
		case oncehook.OutcomeNotYet:
			f.errType, f.text, f.waitsFor = oncehook.FailureNotYet, "waits for "+outcome.Reason, outcome.Reason
		case oncehook.OutcomeUncertain:
			f.errType = oncehook.FailureUncertain
		}
	}
	switch _, unwritten := errors.AsType[unrecorded](err); {
	case errors.Is(err, store.ErrFenced), unwritten:
		f.errType, f.unclaimed = oncehook.FailureUnavailable, true
	case errors.Is(err, store.ErrCommitUnknown), errors.Is(err, store.ErrKeyExpired):
		f.errType = oncehook.FailureUnavailable
	case errors.Is(err, store.ErrResultTooLarge), errors.Is(err, errResult):
		f.errType, f.final, f.word = oncehook.FailurePermanent, true, store.WordPermanent
		_, f.recorded = errors.AsType[recorded](err)
		return f
	}
	if _, ok := errors.AsType[*panicError](err); ok {
		f.errType = oncehook.FailurePanic
	}
	delay, inTime := b.within(f.delay)
	f.delay = delay
	// Whether it committed, or may still be sent, the next claim finds out before
	// the action is given up.
	if (spent || !inTime) && !errors.Is(err, store.ErrCommitUnknown) && !errors.Is(err, store.ErrKeyExpired) && !f.unclaimed {
		f.errType, f.final, f.word = oncehook.FailureExhausted, true, store.WordRetriesExhausted
	}
	return f
}

// classifyClaim judges why an attempt did not begin.
func classifyClaim(err error, b backoff, call envelope) failure {
	f := failure{errType: oncehook.FailureUnavailable, text: err.Error(), unclaimed: true}
	leased, isLeased := errors.AsType[*store.LeasedError](err)
	switch {
	case isLeased:
		f.delay, _ = b.within(max(leased.Wait, leastDelay))
	case errors.Is(err, store.ErrBusinessKeyBusy) && !call.WaitUntil.IsZero():
		f.text = "waits for " + call.BusinessKey + ": " + f.text
		return f.asWait()
	case errors.Is(err, store.ErrStaleRun), errors.Is(err, store.ErrRunEnded):
		f.errType, f.final = oncehook.FailureStaleRun, true
	case errors.Is(err, store.ErrNotFound):
		f.errType, f.final = oncehook.FailurePermanent, true
	default:
		f.delay, _ = b.within(b.jittered())
	}
	return f
}

// outcomeFailure turns the stored end of an action into what its first attempt
// returned, or nil when it succeeded.
func outcomeFailure(o store.ActionOutcome) *failure {
	f := &failure{text: o.Reason, final: true, unclaimed: true}
	switch o.State {
	case oncehook.ActionDone:
		if o.Word != store.WordIgnored {
			return nil
		}
		f.errType = oncehook.FailureIgnored
	case oncehook.ActionAlreadyDone:
		return nil
	case oncehook.ActionSuperseded:
		f.errType = oncehook.FailureSuperseded
	case oncehook.ActionRunning, oncehook.ActionFailed, oncehook.ActionUncertain:
		switch o.Word {
		case store.WordPermanent:
			f.errType = oncehook.FailurePermanent
		case store.WordRunEnded:
			f.errType = oncehook.FailureStaleRun
		case store.WordKeyExpired:
			f.errType = oncehook.FailureUncertain
		default:
			f.errType = oncehook.FailureExhausted
		}
	}
	return f
}

// permanent is a failure before any claim that no retry can help.
func permanent(err error) error {
	return failure{errType: oncehook.FailurePermanent, text: err.Error(), final: true}.asTemporal()
}

// finishFailed is retried without limit, but for a receipt that does not exist.
func finishFailed(ctx context.Context, err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return permanent(err)
	}
	info := activity.GetInfo(ctx)
	return failure{errType: oncehook.FailureUnavailable, text: err.Error(), delay: backoffOf(info, time.Time{}).jittered()}.asTemporal()
}

// errResult says that a result cannot be encoded or decoded.
var errResult = errors.New("the action's result")
