package oncehook

import "regexp"

// Names in Temporal: written into histories and visibility, never renamed.
const (
	TaskQueue    = "oncehook"
	ActionFinish = "oncehook.finish"
	SignalWake   = "oncehook.wake"

	MemoReceiptID     = "oncehook_receipt_id"
	MemoRunNo         = "oncehook_run_no"
	MemoCorrelationID = "oncehook_correlation_id"

	SearchAttributeSource        = "OncehookSource"
	SearchAttributeTenant        = "OncehookTenant"
	SearchAttributeEventType     = "OncehookEventType"
	SearchAttributeCorrelationID = "OncehookCorrelationId"
)

// TemporalHeader is the Temporal header that carries what an attempt needs beside
// its input. Headers are not compared on replay, and local activities get them too.
const TemporalHeader = "oncehook"

// Types of an attempt's failure, as histories and the Temporal UI show them. A
// replayed run is judged by them.
const (
	FailureIgnored     = "oncehook.ignored"
	FailureSuperseded  = "oncehook.superseded"
	FailurePermanent   = "oncehook.permanent"
	FailureExhausted   = "oncehook.retries_exhausted"
	FailureRetryable   = "oncehook.retryable"
	FailureNotYet      = "oncehook.not_yet"
	FailureUncertain   = "oncehook.uncertain"
	FailurePanic       = "oncehook.panic"
	FailureUnavailable = "oncehook.unavailable"
	FailureStaleRun    = "oncehook.stale_run"
	FailureRepeated    = "oncehook.action_repeated"
)

// SearchAttributes lists the Keyword search attributes a namespace needs.
func SearchAttributes() []string {
	return []string{SearchAttributeSource, SearchAttributeTenant, SearchAttributeEventType, SearchAttributeCorrelationID}
}

// Headers of downstream calls.
const (
	HeaderIdempotencyKey = "Idempotency-Key"
	HeaderCorrelationID  = "Oncehook-Correlation-Id"
)

// Environment variables.
const (
	EnvPrefix      = "ONCEHOOK_"
	EnvConfig      = "ONCEHOOK_CONFIG"
	EnvDatabaseURL = "ONCEHOOK_DATABASE_URL"
)

// HookPath is the prefix of every source's URL path.
const HookPath = "/hooks/"

// State is the stored state of a receipt.
type State string

// The stored states.
const (
	StateReceived     State = "received"
	StateQueued       State = "queued"
	StateProcessing   State = "processing"
	StateSucceeded    State = "succeeded"
	StateIgnored      State = "ignored"
	StateDeadLettered State = "dead_lettered"
)

// Status is what people are shown: a State, or one of the derived ones.
type Status string

// The derived statuses.
const (
	StatusRetryableFailure Status = "retryable_failure"
	StatusParked           Status = "parked"
	StatusUncertain        Status = "uncertain"
	StatusHeld             Status = "held"
)

// ActionState is the state of one side effect.
type ActionState string

// The action states.
const (
	ActionRunning     ActionState = "running"
	ActionDone        ActionState = "done"
	ActionFailed      ActionState = "failed"
	ActionUncertain   ActionState = "uncertain"
	ActionSuperseded  ActionState = "superseded"
	ActionAlreadyDone ActionState = "already_done"
)

// Decision is the audited outcome of one delivery.
type Decision string

// The decision outcomes.
const (
	Accepted        Decision = "accepted"
	Duplicate       Decision = "duplicate"
	Conflict        Decision = "conflict"
	Rejected        Decision = "rejected"
	Unauthenticated Decision = "unauthenticated"
	TenantForbidden Decision = "tenant_forbidden"
	RateLimited     Decision = "rate_limited"
	Unavailable     Decision = "unavailable"
)

// Kind is the nature of a side effect.
type Kind string

// The effect kinds.
const (
	KindLocal      Kind = "local"
	KindKeyed      Kind = "keyed"
	KindProbed     Kind = "probed"
	KindAtMostOnce Kind = "at_most_once"
)

// Causes of receipt transitions that the system itself writes.
const (
	CauseAccept           = "accept"
	CauseNoWorkflow       = "no_workflow"
	CauseDispatch         = "dispatch"
	CauseFirstAction      = "first_action"
	CauseFinished         = "finished"
	CauseIgnored          = "ignored"
	CauseSuperseded       = "superseded"
	CauseCancelled        = "cancelled"
	CauseWorkflowFailed   = "workflow_failed"
	CauseTemporalRefused  = "temporal_refused"
	CauseRetriesExhausted = "retries_exhausted"
	CausePermanent        = "permanent"
	// CauseKeyExpired: the downstream may have forgotten the idempotency key before
	// the outcome was known. CauseWaitExpired: what an action waited for never came.
	CauseKeyExpired  = "key_expired"
	CauseWaitExpired = "wait_expired"
	// What the reconciler found: the run was ended from outside, or is unknown.
	CauseTerminated = "terminated"
	CauseTimedOut   = "timed_out"
	CauseRunLost    = "run_lost"
)

// Fingerprint recipes.
const (
	// RecipeFields is the RFC 8785 form, with exact integers, of the compared fields.
	RecipeFields = "fields/1"
	// RecipeRaw is the compared bytes as sent, where they have no such form.
	RecipeRaw = "raw/1"
)

var actionName = regexp.MustCompile(`^[a-z0-9_.]{1,48}$`)

// ValidActionName reports whether name is `area.verb_object` in [a-z0-9_.]{1,48}.
func ValidActionName(name string) bool { return actionName.MatchString(name) }
