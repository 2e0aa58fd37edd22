package dispatch

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func TestStartPolicies(t *testing.T) {
	t.Parallel()
	first := startOptions(store.Start{Ref: oncehook.Ref{RunNo: 1, EventKey: "s:t:1"}}, true)
	require.Equal(t, "s:t:1", first.ID)
	require.Equal(t, enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE, first.WorkflowIDReusePolicy)
	require.Equal(t, enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL, first.WorkflowIDConflictPolicy)
	require.True(t, first.WorkflowExecutionErrorWhenAlreadyStarted)
	require.True(t, first.EnableEagerStart)
	later := startOptions(store.Start{Ref: oncehook.Ref{RunNo: 2}}, false)
	require.Equal(t, enumspb.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE, later.WorkflowIDReusePolicy)
	require.Equal(t, enumspb.WORKFLOW_ID_CONFLICT_POLICY_FAIL, later.WorkflowIDConflictPolicy)
	require.Contains(t, later.StaticSummary, "run 2")
}

func TestAttributesAndSummaryFitWhateverTheyAreMadeOf(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		value := string(rapid.SliceOfN(rapid.Byte(), 0, 600).Draw(t, "value"))
		kept := attribute(value)
		require.LessOrEqual(t, len(kept), maxAttribute)
		require.True(t, utf8.ValidString(kept))
		require.NotContains(t, kept, "\x00")
		line := summary(oncehook.Ref{Type: value, Source: value, Tenant: value, RunNo: 2})
		require.LessOrEqual(t, len(line), 300)
		require.True(t, utf8.ValidString(line))
	})
	long := strings.Repeat("a", 300)
	require.NotEqual(t, attribute(long+"1"), attribute(long+"2"))
	require.Equal(t, "north", attribute("north"))
	require.Equal(t, strings.Repeat("é", 40), cut(strings.Repeat("é", 50), 81))
}

func TestJudgeIsTotal(t *testing.T) {
	t.Parallel()
	for want, errs := range map[verdict][]error{
		verdictTaken: {&serviceerror.WorkflowExecutionAlreadyStarted{}},
		verdictConfiguration: {
			serviceerror.NewNamespaceNotFound("nowhere"), serviceerror.NewPermissionDenied("no", ""), serviceerror.NewNotFound("no"),
			serviceerror.NewInvalidArgument("Namespace default has no mapping defined for search attribute OncehookSource"),
			serviceerror.NewInvalidArgument("missing task queue name"), status.Error(codes.Unauthenticated, "no token"),
		},
		verdictRefused: {
			serviceerror.NewInvalidArgument("WorkflowId length exceeds limit."), serviceerror.NewInvalidArgument("Blob data size exceeds limit."),
			status.Error(codes.InvalidArgument, "too long"),
		},
		verdictAway: {
			serviceerror.NewUnavailable("away"), context.DeadlineExceeded, context.Canceled, errors.New("no route"),
			serviceerror.NewResourceExhausted(enumspb.RESOURCE_EXHAUSTED_CAUSE_RPS_LIMIT, "busy"), serviceerror.NewInternal("bug"),
			status.Error(codes.Unavailable, "away"),
		},
	} {
		for _, err := range errs {
			require.Equal(t, want, judge(err), err.Error())
		}
	}
}

func TestDelaysGrowToTenSeconds(t *testing.T) {
	t.Parallel()
	for claims := range 200 {
		require.LessOrEqual(t, delay(claims), 10*time.Second)
		require.GreaterOrEqual(t, delay(claims), time.Duration(0))
	}
	require.LessOrEqual(t, delay(1), retryFirst)
}
