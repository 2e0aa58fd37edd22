package dispatch

import (
	"context"
	"errors"
	"strings"

	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// verdict is what a failed start means for its row.
type verdict string

const (
	// verdictAway: Temporal does not answer; the row is tried again soon.
	verdictAway verdict = "away"
	// verdictTaken: a run has the workflow ID; its memo tells whose it is.
	verdictTaken verdict = "taken"
	// verdictRefused: Temporal will never take this row.
	verdictRefused verdict = "refused"
	// verdictConfiguration: our namespace, permissions or search attributes are
	// wrong. No row is to blame: they stay, and alert.
	verdictConfiguration verdict = "configuration"
)

func judge(err error) verdict {
	if _, ok := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); ok {
		return verdictTaken
	}
	if _, ok := errors.AsType[*serviceerror.NamespaceNotFound](err); ok {
		return verdictConfiguration
	}
	if _, ok := errors.AsType[*serviceerror.PermissionDenied](err); ok {
		return verdictConfiguration
	}
	if _, ok := errors.AsType[*serviceerror.NotFound](err); ok {
		return verdictConfiguration
	}
	if invalid, ok := errors.AsType[*serviceerror.InvalidArgument](err); ok {
		return judgeInvalid(invalid.Error())
	}
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return verdictAway
	}
	switch status.Code(err) { //nolint:exhaustive // every other code is worth a retry
	case codes.Unauthenticated, codes.PermissionDenied:
		return verdictConfiguration
	case codes.InvalidArgument:
		return judgeInvalid(err.Error())
	default:
		return verdictAway
	}
}

// judgeInvalid separates what every row of ours would suffer from what only this
// one does. The server tells them apart by text alone.
func judgeInvalid(text string) verdict {
	text = strings.ToLower(text)
	for _, ours := range []string{"search attribute", "searchattribute", "namespace", "task queue", "taskqueue"} {
		if strings.Contains(text, ours) {
			return verdictConfiguration
		}
	}
	return verdictRefused
}
