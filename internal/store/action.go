package store

import (
	"errors"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
)

// ActionID names one side effect of one event.
type ActionID struct {
	ReceiptID uuid.UUID
	Name      string
	// Epoch is 1, and rises only in a replay for new effects.
	Epoch int
}

// ClaimRequest asks for the right to attempt an action.
type ClaimRequest struct {
	ActionID
	RunNo int
	Kind  oncehook.Kind
	// BusinessKey is what the effect settles, or "".
	BusinessKey string
	// Lease is how long the attempt may take.
	Lease time.Duration
	// MaxAttempts bounds the attempts within one run, whoever counts otherwise:
	// a worker that died counts too. Zero is no bound.
	MaxAttempts int
	// WaitUntil is when the run gives up waiting for what must exist first; zero
	// when the run cannot wait.
	WaitUntil time.Time
}

// remote reports whether the effect is outside of our PostgreSQL, where no
// transaction takes it back.
func remote(k oncehook.Kind) bool { return k != oncehook.KindLocal }

// Claim is the right to attempt an action, or the outcome of one that is over.
type Claim struct {
	ActionID
	Kind  oncehook.Kind
	RunNo int
	// Fence rises with every claim. Only the highest can record anything.
	Fence int64
	// RunAttempts counts the attempts of this run, this one included.
	RunAttempts    int
	IdempotencyKey string
	BusinessKey    string
	// Unanswered says that an earlier attempt sent something and never learned
	// what came of it.
	Unanswered bool
	Event      StoredEvent
	// Outcome is set when there is nothing left to attempt.
	Outcome *ActionOutcome
}

// ActionOutcome is how an action ended.
type ActionOutcome struct {
	// State is done, superseded, already_done, failed or uncertain.
	State oncehook.ActionState
	// Word says more: ok or ignore when done; permanent, retries_exhausted or
	// run_ended when failed; key_expired, retries_exhausted, permanent or run_ended
	// when uncertain.
	Word   string
	Reason string
	// Result is what the effect returned; of an already_done action, what the
	// first one returned.
	Result []byte
	// DoneBy is the receipt whose action did it, when already_done.
	DoneBy uuid.UUID
}

// The words of ActionOutcome.
const (
	WordOK               = "ok"
	WordIgnored          = "ignore"
	WordPermanent        = oncehook.CausePermanent
	WordRetriesExhausted = oncehook.CauseRetriesExhausted
	WordKeyExpired       = oncehook.CauseKeyExpired
	WordRunEnded         = "run_ended"
)

// Errors of claims and attempts.
var (
	// ErrStaleRun says that another run owns the receipt now.
	ErrStaleRun = errors.New("the receipt belongs to another run")
	// ErrRunEnded says that the run has ended, so that nothing may begin.
	ErrRunEnded = errors.New("the run has ended")
	// ErrFenced says that a later attempt took the action over: this one may not commit.
	ErrFenced = errors.New("a later attempt took the action over")
	// ErrBusinessKeyBusy says that another event's action holds the business key.
	ErrBusinessKeyBusy = errors.New("another event's action holds the business key")
	// ErrLeaseOver says that the attempt's time is over: nothing may be sent.
	ErrLeaseOver = errors.New("the attempt's time is over")
	// ErrKeyExpired says that the downstream may have forgotten the idempotency
	// key of something whose outcome is unknown: nothing may be sent.
	ErrKeyExpired = errors.New("the downstream may have forgotten the idempotency key")
	// ErrCommitUnknown says that nobody knows whether the attempt committed. The
	// next claim finds out.
	ErrCommitUnknown = errors.New("it is unknown whether the attempt was committed")
	// ErrResultTooLarge says that an effect returned more than MaxResult bytes.
	ErrResultTooLarge = errors.New("the action's result is larger than 64 KiB")
)

// LeasedError says that an earlier attempt may still be sending.
type LeasedError struct {
	// Wait is how long until its lease and its call have ended for sure.
	Wait time.Duration
}

func (e *LeasedError) Error() string { return "an earlier attempt may still be under way" }

// MaxResult bounds an action's stored result, in bytes.
const MaxResult = 64 << 10
