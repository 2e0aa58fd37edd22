package effect

import (
	"errors"

	"go.temporal.io/sdk/temporal"

	"github.com/oncehook/oncehook"
)

// verdict is what a run came to.
type verdict struct {
	state  oncehook.State
	cause  string
	detail string
}

// judge turns what the workflow's function returned into the receipt's end:
//
//	nil                                     succeeded       finished
//	Ignore                                  ignored         ignored, with the reason
//	Superseded                              ignored         superseded
//	Permanent                               dead_lettered   permanent
//	attempts or time used up, any timeout   dead_lettered   retries_exhausted
//	waited in vain for a business key       dead_lettered   wait_expired
//	waited in vain for a person's word      dead_lettered   key_expired
//	cancelled                               dead_lettered   cancelled
//	anything else                           dead_lettered   workflow_failed
//
// An error that the function wrapped is found; of several joined ones the worst counts.
func judge(err error) verdict {
	if err == nil {
		return verdict{state: oncehook.StateSucceeded, cause: oncehook.CauseFinished}
	}
	v := judgeChain(err)
	if v.detail == "" {
		v.detail = err.Error()
	}
	v.detail = cut(v.detail)
	return v
}

func judgeChain(err error) verdict {
	for e := err; e != nil; {
		if v, ok := judgeOne(e); ok {
			return v
		}
		switch u := e.(type) { //nolint:errorlint // walks the chain itself
		case interface{ Unwrap() error }:
			e = u.Unwrap()
		case interface{ Unwrap() []error }:
			return worst(u.Unwrap())
		default:
			e = nil
		}
	}
	if _, ok := errors.AsType[*temporal.ActivityError](err); ok {
		return verdict{state: oncehook.StateDeadLettered, cause: oncehook.CauseRetriesExhausted}
	}
	return verdict{state: oncehook.StateDeadLettered, cause: oncehook.CauseWorkflowFailed}
}

// judgeOne looks at one error of a chain, without what it wraps.
func judgeOne(err error) (verdict, bool) {
	dead := func(cause, detail string) (verdict, bool) {
		return verdict{state: oncehook.StateDeadLettered, cause: cause, detail: detail}, true
	}
	ignored := func(cause, detail string) (verdict, bool) {
		return verdict{state: oncehook.StateIgnored, cause: cause, detail: detail}, true
	}
	switch e := err.(type) { //nolint:errorlint // one link at a time
	case *temporal.CanceledError:
		return dead(oncehook.CauseCancelled, "")
	case *temporal.TimeoutError:
		return dead(oncehook.CauseRetriesExhausted, "")
	case *temporal.ApplicationError:
		switch e.Type() {
		case oncehook.FailureIgnored:
			return ignored(oncehook.CauseIgnored, e.Message())
		case oncehook.FailureSuperseded:
			return ignored(oncehook.CauseSuperseded, e.Message())
		case oncehook.FailurePermanent:
			return dead(oncehook.CausePermanent, e.Message())
		case oncehook.FailureRepeated:
			return dead(oncehook.CauseWorkflowFailed, e.Message())
		case oncehook.FailureExhausted, oncehook.FailureRetryable, oncehook.FailurePanic, oncehook.FailureUnavailable, oncehook.FailureStaleRun:
			return dead(oncehook.CauseRetriesExhausted, e.Message())
		case oncehook.FailureNotYet:
			return dead(oncehook.CauseWaitExpired, e.Message())
		case oncehook.FailureUncertain:
			return dead(oncehook.CauseKeyExpired, e.Message())
		}
	case *oncehook.Outcome:
		switch e.Kind {
		case oncehook.OutcomeIgnore:
			return ignored(oncehook.CauseIgnored, e.Reason)
		case oncehook.OutcomeSuperseded:
			return ignored(oncehook.CauseSuperseded, e.Reason)
		case oncehook.OutcomePermanent:
			return dead(oncehook.CausePermanent, e.Reason)
		case oncehook.OutcomeRetryAfter, oncehook.OutcomeNotYet, oncehook.OutcomeUncertain:
			return dead(oncehook.CauseWorkflowFailed, e.Error())
		}
	}
	return verdict{}, false
}

// worst prefers a dead letter to an ignored run, and the first of equals.
func worst(errs []error) verdict {
	var v verdict
	for _, err := range errs {
		if one := judgeChain(err); v.state == "" || v.state == oncehook.StateIgnored && one.state == oncehook.StateDeadLettered {
			v = one
		}
	}
	return v
}
