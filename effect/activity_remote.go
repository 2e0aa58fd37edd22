package effect

import (
	"context"
	"errors"

	"go.temporal.io/sdk/interceptor"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// runRemote performs a remote effect and records its end. answered says that
// nothing which this attempt sent can have had an effect.
func (a *activityInbound) runRemote(ctx context.Context, d Declaration, claim store.Claim, in *interceptor.ExecuteActivityInput) (result any, answered bool, err error) {
	s := &sender{work: a.work, claim: claim, remembers: d.Remembers}
	own := context.WithValue(ctx, attemptKey{}, attempt{claim: claim, at: a.work.Now()})
	result, err = a.safely(context.WithValue(own, senderKey{}, s), d.Name, in)
	outcome, _ := oncehook.AsOutcome(err)
	answered, refused := s.end(outcome != nil && outcome.Kind == oncehook.OutcomePermanent)
	if refused != nil && (err != nil || s.sent == 0) {
		err = refused // whatever the function made of it
	}
	end := store.RemoteEnd{State: oncehook.ActionDone, Word: store.WordOK}
	switch {
	case err == nil:
		if end.Result, err = encodeResult(d, result); err != nil {
			return nil, answered, a.keepDone(ctx, claim, err)
		}
	case outcome != nil && outcome.Kind == oncehook.OutcomeIgnore:
		end.Word, end.Reason = store.WordIgnored, outcome.Reason
	case outcome != nil && outcome.Kind == oncehook.OutcomeSuperseded:
		end.State, end.Word, end.Reason = oncehook.ActionSuperseded, string(oncehook.ActionSuperseded), outcome.Reason
	default:
		return nil, answered, err
	}
	switch recordErr := a.record(ctx, claim, end); {
	case errors.Is(recordErr, store.ErrResultTooLarge):
		return nil, answered, a.keepDone(ctx, claim, recordErr)
	case recordErr != nil:
		return nil, answered, unrecorded{recordErr}
	}
	return result, answered, err
}

// record writes the end of a remote effect even when the attempt's own time is over.
func (a *activityInbound) record(ctx context.Context, claim store.Claim, end store.RemoteEnd) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return a.work.RecordRemote(ctx, claim, end)
}

// keepDone records an effect that has happened but whose result cannot be kept:
// unlike a Local one it cannot be taken back.
func (a *activityInbound) keepDone(ctx context.Context, claim store.Claim, cause error) error {
	err := a.record(ctx, claim, store.RemoteEnd{State: oncehook.ActionDone, Word: store.WordOK, Reason: cut(cause.Error())})
	if err != nil {
		return unrecorded{err}
	}
	return recorded{cause}
}

// unrecorded is the error of an attempt whose end could not be written: the next
// one waits out its lease and asks the downstream again, under the same key.
type unrecorded struct{ error }

func (u unrecorded) Unwrap() error { return u.error }

// recorded is the error of an attempt whose end is written.
type recorded struct{ error }

func (r recorded) Unwrap() error { return r.error }

// parked ends an attempt that must wait for a business key, and lets the workflow
// wait. When the key is settled meanwhile the attempt has simply failed.
func (a *activityInbound) parked(ctx context.Context, claim store.Claim, f failure, call envelope) error {
	recordCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	parked, err := a.work.Park(recordCtx, claim, store.Wait{For: f.waitsFor, Until: call.WaitUntil, Reason: cut(f.text)})
	switch {
	case err != nil:
		return a.unclaimed(ctx, claim.Name, failure{errType: oncehook.FailureUnavailable, text: err.Error(), delay: f.delay})
	case !parked:
		return a.failed(ctx, claim, f)
	}
	a.attempted(ctx, claim.Name, f.errType)
	return f.asWait().asTemporal()
}
