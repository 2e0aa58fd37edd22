package app

import (
	"context"
	"errors"
	"fmt"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/worker"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
)

// CheckHistory runs a recorded run against this binary's workflows, as a worker
// does that takes the run over, and returns where they differ. Nothing is executed
// and nothing changes. Encrypted payloads are decrypted with the configured keys.
func (a *App) CheckHistory(history *historypb.History) error {
	options, err := a.TemporalOptions()
	if err != nil {
		return err
	}
	replayer, err := worker.NewWorkflowReplayerWithOptions(worker.WorkflowReplayerOptions{
		DataConverter: options.DataConverter, FailureConverter: options.FailureConverter,
		Interceptors: []interceptor.WorkerInterceptor{
			a.registry.WorkerInterceptor(nil, effect.WithLog(a.log), effect.WithDataConverter(options.DataConverter)),
		},
		DisableRegistrationAliasing: true,
	})
	if err != nil {
		return fmt.Errorf("make a replayer: %w", err)
	}
	a.parts.Workflows(replayer)
	return replayer.ReplayWorkflowHistory(log.NewStructuredLogger(a.log), history)
}

// Run is a run in Temporal.
type Run struct{ WorkflowID, RunID string }

// Histories reads histories from Temporal.
type Histories struct {
	client    client.Client
	namespace string
}

// OpenHistories connects to Temporal.
func (a *App) OpenHistories(ctx context.Context) (*Histories, error) {
	options, err := a.TemporalOptions()
	if err != nil {
		return nil, err
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("connect to Temporal: %w", err)
	}
	return &Histories{client: c, namespace: options.Namespace}, nil
}

// Close closes the connection.
func (h *Histories) Close() { h.client.Close() }

// Open lists at most limit runs that are open, the newest first.
func (h *Histories) Open(ctx context.Context, limit int) ([]Run, error) {
	var runs []Run
	request := &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: h.namespace, Query: fmt.Sprintf("TaskQueue = '%s' AND ExecutionStatus = 'Running'", oncehook.TaskQueue),
	}
	for {
		page, err := h.client.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list open runs: %w", err)
		}
		for _, found := range page.GetExecutions() {
			if len(runs) == limit {
				return runs, nil
			}
			runs = append(runs, Run{found.GetExecution().GetWorkflowId(), found.GetExecution().GetRunId()})
		}
		if request.NextPageToken = page.GetNextPageToken(); len(request.GetNextPageToken()) == 0 {
			return runs, nil
		}
	}
}

// Read returns the history of a run; without a run id that of the latest.
func (h *Histories) Read(ctx context.Context, run Run) (*historypb.History, error) {
	history := &historypb.History{}
	events := h.client.GetWorkflowHistory(ctx, run.WorkflowID, run.RunID, false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	for events.HasNext() {
		event, err := events.Next()
		if err != nil {
			return nil, fmt.Errorf("read the history of %s: %w", run.WorkflowID, err)
		}
		history.Events = append(history.Events, event)
	}
	if len(history.GetEvents()) == 0 {
		return nil, errors.New("the history is empty")
	}
	return history, nil
}
