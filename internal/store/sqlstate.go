package store

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"
)

// The SQLSTATEs on which something depends.
const (
	codeUndefinedTable      = "42P01"
	codeUndefinedFunction   = "42883"
	codeUndefinedSchema     = "3F000"
	codeNoPrivilege         = "42501"
	codeCheckViolation      = "23514"
	codeDeadlock            = "40P01"
	codeSerialization       = "40001"
	codeNoSavepoint         = "3B001"
	classData               = "22"
	classIntegrity          = "23"
	classConnection         = "08"
	classOperatorIntervened = "57P"
	severityError           = "ERROR"
)

// notSentError is a failure before anything was sent.
type notSentError struct{ cause error }

func (e notSentError) Error() string { return e.cause.Error() }

func (e notSentError) Unwrap() error { return e.cause }

func isDeadlock(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (refused.Code == codeDeadlock || refused.Code == codeSerialization)
}

// isRefusedData reports whether a value was refused, so that a smaller batch may
// pass. A missing partition is a check violation without a constraint; it
// refuses every row alike.
func isRefusedData(err error) bool {
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || refused.Code == codeCheckViolation && refused.ConstraintName == "" {
		return false
	}
	return strings.HasPrefix(refused.Code, classData) || strings.HasPrefix(refused.Code, classIntegrity)
}

// isUnknownOutcome reports whether the transaction may have committed although
// the call failed. An ordinary error of the server says that it did not; a lost
// connection, a passed deadline and a terminated session say nothing.
func isUnknownOutcome(err error) bool {
	if _, ok := errors.AsType[notSentError](err); ok || pgconn.SafeToRetry(err) {
		return false
	}
	refused, ok := errors.AsType[*pgconn.PgError](err)
	if !ok {
		return true
	}
	return refused.SeverityUnlocalized != severityError ||
		strings.HasPrefix(refused.Code, classConnection) || strings.HasPrefix(refused.Code, classOperatorIntervened)
}

// brief reduces an error to what may be logged. A server error's detail, hint
// and context can quote stored values and whole statements.
func brief(err error) error {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return fmt.Errorf("%s (SQLSTATE %s)", refused.Message, refused.Code)
	}
	return err
}
