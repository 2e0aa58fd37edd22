package oncehook

import (
	"errors"
	"time"
)

// OutcomeKind names what an activity decided about its own attempt.
type OutcomeKind string

// The outcomes an activity can return as an error. Any other error is
// retryable and bounded.
const (
	OutcomeIgnore     OutcomeKind = "ignore"
	OutcomeSuperseded OutcomeKind = "superseded"
	OutcomePermanent  OutcomeKind = "permanent"
	OutcomeRetryAfter OutcomeKind = "retry_after"
	OutcomeNotYet     OutcomeKind = "not_yet"
	OutcomeUncertain  OutcomeKind = "uncertain"
)

// Outcome is an error that steers what happens next. Activities make one with
// Ignore, Superseded, Permanent, RetryAfter, NotYet or Uncertain and never deal
// with Temporal's own errors.
type Outcome struct {
	Kind OutcomeKind
	// Reason is what an operator reads; for NotYet it is the business key waited for.
	Reason string
	// After is the least delay before the next attempt, for RetryAfter.
	After time.Duration
	cause error
}

func (o *Outcome) Error() string {
	if o.cause != nil {
		return string(o.Kind) + ": " + o.cause.Error()
	}
	return string(o.Kind) + ": " + o.Reason
}

func (o *Outcome) Unwrap() error { return o.cause }

// Ignore says that there is nothing to do: what the attempt wrote is undone and
// the receipt ends ignored, with the reason.
func Ignore(reason string) error { return &Outcome{Kind: OutcomeIgnore, Reason: reason} }

// Superseded says that a newer observation has already been applied: what the
// attempt wrote is undone, the action is superseded and the receipt ends ignored.
func Superseded(reason string) error { return &Outcome{Kind: OutcomeSuperseded, Reason: reason} }

// Permanent says that no retry can help: the action fails at once.
func Permanent(err error) error {
	return &Outcome{Kind: OutcomePermanent, Reason: text(err), cause: err}
}

// RetryAfter says when the next attempt makes sense, as in HTTP's Retry-After.
// The delay is clamped to the action's remaining budget.
func RetryAfter(err error, after time.Duration) error {
	return &Outcome{Kind: OutcomeRetryAfter, Reason: text(err), After: after, cause: err}
}

// NotYet says that the thing named by the business key must exist first.
func NotYet(businessKey string) error { return &Outcome{Kind: OutcomeNotYet, Reason: businessKey} }

// Uncertain says that a remote effect may or may not have happened.
func Uncertain(err error) error {
	return &Outcome{Kind: OutcomeUncertain, Reason: text(err), cause: err}
}

// AsOutcome returns the outermost Outcome in err's chain.
func AsOutcome(err error) (*Outcome, bool) { return errors.AsType[*Outcome](err) }

func text(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
