package app

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
)

// clockSlack is how far PostgreSQL's clock, by which a key's last use is known,
// and Temporal's, by which a run's start is known, may differ.
const clockSlack = 5 * time.Minute

// unneededByHistories refuses while Temporal keeps runs that were started while a
// process still sealed with the key. Runs that started later hold nothing of it.
func (k *Keys) unneededByHistories(ctx context.Context, key keyring.KeyInfo) error {
	used, err := k.store.Used(ctx, key)
	if err != nil {
		return err
	}
	if used.LastPrimary.IsZero() {
		return k.neverSealed(ctx)
	}
	options, err := k.app.TemporalOptions()
	if err != nil {
		return err
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return fmt.Errorf("ask Temporal which runs need payload key %d: %w", key.ID, err)
	}
	defer c.Close()
	started := fmt.Sprintf("TaskQueue = '%s' AND StartTime <= '%s'", oncehook.TaskQueue, used.LastPrimary.Add(clockSlack).UTC().Format(time.RFC3339Nano))
	open, err := countRuns(ctx, c, options.Namespace, started+" AND ExecutionStatus = 'Running'")
	if err != nil {
		return err
	}
	if open > 0 {
		return &StillNeededError{
			Key: key, Count: open, What: "open runs",
			Consequence: "without it they cannot go on; they began before " + used.LastPrimary.UTC().Format(time.RFC3339) + ", when it was last in use",
		}
	}
	kept, err := countRuns(ctx, c, options.Namespace, started)
	if err != nil || kept == 0 {
		return err
	}
	return &StillNeededError{
		Key: key, Count: kept, What: "closed runs that Temporal still keeps", Forcible: true,
		Consequence: "without it their histories cannot be read" + retention(ctx, c, options.Namespace) + "; with --force it is retired all the same",
	}
}

// neverSealed trusts that a key was never in use only where the reports of the
// processes, which tell, do come.
func (k *Keys) neverSealed(ctx context.Context) error {
	id, ok := k.keyset.Primary(keyring.KindPayload)
	if !ok {
		return nil
	}
	used, err := k.store.Used(ctx, keyring.KeyInfo{Kind: keyring.KindPayload, ID: id})
	if err != nil {
		return err
	}
	if used.LastPrimary.IsZero() {
		return errors.New("no process has reported its payload keys yet, so that nobody knows whether this one was in use: start the processes with the keyset as it is now, and try again")
	}
	return nil
}

func countRuns(ctx context.Context, c client.Client, namespace, query string) (int64, error) {
	counted, err := c.CountWorkflow(ctx, &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: query})
	if err != nil {
		return 0, fmt.Errorf("count runs in Temporal: %w", err)
	}
	return counted.GetCount(), nil
}

// retention says, as half a sentence, how long Temporal keeps closed runs.
func retention(ctx context.Context, c client.Client, namespace string) string {
	described, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return ""
	}
	return fmt.Sprintf(" (each is forgotten %s after it closed)", described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration())
}
