package harness

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/activities/logistics"
	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/effect"
)

// Event types with a workflow for tests. The source acme takes them.
const (
	// TwoAttemptsType records an arrival and gives that two attempts.
	TwoAttemptsType = "test.two_attempts"
	// TwoSendsType sends a notice to the downstream and gives that two attempts.
	TwoSendsType = "test.two_sends"
	// WaitingType waits an hour, or for the signal WaitingSignal, and then records an arrival.
	WaitingType = "test.waiting"
	// RetryingType fails, and is tried again after an hour.
	RetryingType = "test.retrying"
)

// WaitingSignal ends the wait of WaitingType.
const WaitingSignal = "test.go"

type nothing struct{}

// retrying is an effect that does not succeed.
var retrying = effect.Local[nothing, nothing]("test.retrying") //nolint:gochecknoglobals // declared as in activities

// EventOf is the event id of a test type, for a tenant of acme.
func EventOf(eventType, id string) string {
	return strings.Replace(Event(id), ArrivalType, eventType, 1)
}

func recordArrival(ctx workflow.Context) error {
	_, err := logistics.RecordArrival.Do(ctx, logistics.Arrival{})
	return err
}

func twoAttempts(ctx workflow.Context) workflow.Context {
	return workflow.WithActivityOptions(ctx, workflow.ActivityOptions{RetryPolicy: &temporal.RetryPolicy{MaximumAttempts: 2}})
}

func testWorkflows() map[string]func(workflow.Context, oncehook.Ref) error {
	return map[string]func(workflow.Context, oncehook.Ref) error{
		TwoAttemptsType: func(ctx workflow.Context, _ oncehook.Ref) error { return recordArrival(twoAttempts(ctx)) },
		TwoSendsType: func(ctx workflow.Context, _ oncehook.Ref) error {
			_, err := notice.Do(twoAttempts(ctx), nothing{})
			return err
		},
		WaitingType: func(ctx workflow.Context, _ oncehook.Ref) error {
			if _, timedOut := workflow.GetSignalChannel(ctx, WaitingSignal).ReceiveWithTimeout(ctx, time.Hour, nil); !timedOut {
				return errors.New("no signal came")
			}
			return recordArrival(ctx)
		},
		RetryingType: func(ctx workflow.Context, _ oncehook.Ref) error {
			_, err := retrying.Do(workflow.WithActivityOptions(ctx, workflow.ActivityOptions{ScheduleToCloseTimeout: 24 * time.Hour}), nothing{})
			return err
		},
	}
}

// withTestWorkflows adds the workflows of the test types.
func withTestWorkflows(parts *app.Parts) {
	flows, shipped := testWorkflows(), parts.Workflows
	for eventType := range flows {
		parts.Routes = append(parts.Routes, oncehook.Route{Provider: "bearer", Type: eventType, Workflow: eventType})
	}
	parts.Workflows = func(w worker.WorkflowRegistry) {
		shipped(w)
		for name, flow := range flows {
			w.RegisterWorkflowWithOptions(flow, workflow.RegisterOptions{Name: name})
		}
	}
	parts.Actions = append(parts.Actions, retrying)
	outside := parts.Bindings
	parts.Bindings = func(o app.Outside) []effect.Binding {
		return append(outside(o), retrying.Bind(func(context.Context, nothing) (nothing, error) {
			return nothing{}, oncehook.RetryAfter(errors.New("the depot is closed"), time.Hour)
		}))
	}
}
