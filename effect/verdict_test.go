package effect

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/temporal"

	"github.com/oncehook/oncehook"
)

func application(errType string) error {
	return failure{errType: errType, text: "because", final: true}.asTemporal()
}

func TestJudgeIsTotal(t *testing.T) {
	t.Parallel()
	plain := errors.New("because")
	cases := map[string]struct {
		err   error
		state oncehook.State
		cause string
	}{
		"nothing":           {nil, oncehook.StateSucceeded, "finished"},
		"ignored":           {application(oncehook.FailureIgnored), oncehook.StateIgnored, "ignored"},
		"superseded":        {application(oncehook.FailureSuperseded), oncehook.StateIgnored, "superseded"},
		"permanent":         {application(oncehook.FailurePermanent), oncehook.StateDeadLettered, "permanent"},
		"exhausted":         {application(oncehook.FailureExhausted), oncehook.StateDeadLettered, "retries_exhausted"},
		"retryable":         {application(oncehook.FailureRetryable), oncehook.StateDeadLettered, "retries_exhausted"},
		"panic":             {application(oncehook.FailurePanic), oncehook.StateDeadLettered, "retries_exhausted"},
		"unavailable":       {application(oncehook.FailureUnavailable), oncehook.StateDeadLettered, "retries_exhausted"},
		"not yet":           {application(oncehook.FailureNotYet), oncehook.StateDeadLettered, "wait_expired"},
		"uncertain":         {application(oncehook.FailureUncertain), oncehook.StateDeadLettered, "key_expired"},
		"stale run":         {application(oncehook.FailureStaleRun), oncehook.StateDeadLettered, "retries_exhausted"},
		"repeated":          {application(oncehook.FailureRepeated), oncehook.StateDeadLettered, "workflow_failed"},
		"another's type":    {application("invoice.missing"), oncehook.StateDeadLettered, "workflow_failed"},
		"timeout":           {temporal.NewTimeoutError(enumspb.TIMEOUT_TYPE_SCHEDULE_TO_CLOSE, nil), oncehook.StateDeadLettered, "retries_exhausted"},
		"cancelled":         {temporal.NewCanceledError(), oncehook.StateDeadLettered, "cancelled"},
		"plain":             {plain, oncehook.StateDeadLettered, "workflow_failed"},
		"outcome ignore":    {oncehook.Ignore("because"), oncehook.StateIgnored, "ignored"},
		"outcome older":     {oncehook.Superseded("because"), oncehook.StateIgnored, "superseded"},
		"outcome permanent": {oncehook.Permanent(plain), oncehook.StateDeadLettered, "permanent"},
		"outcome retry":     {oncehook.RetryAfter(plain, 1), oncehook.StateDeadLettered, "workflow_failed"},
		"outcome not yet":   {oncehook.NotYet("because"), oncehook.StateDeadLettered, "workflow_failed"},
		"outcome uncertain": {oncehook.Uncertain(plain), oncehook.StateDeadLettered, "workflow_failed"},
		"wrapped":           {fmt.Errorf("arrive: %w", application(oncehook.FailureIgnored)), oncehook.StateIgnored, "ignored"},
		"caused":            {temporal.NewApplicationErrorWithCause("mine", "mine", application(oncehook.FailurePermanent)), oncehook.StateDeadLettered, "permanent"},
		"joined":            {errors.Join(application(oncehook.FailureIgnored), application(oncehook.FailurePermanent)), oncehook.StateDeadLettered, "permanent"},
		"joined, ignored":   {errors.Join(application(oncehook.FailureSuperseded), application(oncehook.FailureIgnored)), oncehook.StateIgnored, "superseded"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := judge(c.err)
			require.Equal(t, c.state, v.state)
			require.Equal(t, c.cause, v.cause)
			if c.err != nil {
				require.NotEmpty(t, v.detail)
			}
		})
	}
}
