package reconcile

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

const (
	// listBack is how far back the first sweep of a process asks, and listOverlap
	// how much each one repeats: visibility is behind, and clocks differ. What the
	// list misses, the walk over the receipts finds.
	listBack    = time.Hour
	listOverlap = 2 * time.Minute
	listSize    = 200
	listPages   = 10
)

// closedStatuses are the ends that a run's finish may not have seen.
var closedStatuses = []enumspb.WorkflowExecutionStatus{ //nolint:gochecknoglobals // constant
	enumspb.WORKFLOW_EXECUTION_STATUS_FAILED, enumspb.WORKFLOW_EXECUTION_STATUS_CANCELED,
	enumspb.WORKFLOW_EXECUTION_STATUS_TERMINATED, enumspb.WORKFLOW_EXECUTION_STATUS_TIMED_OUT,
}

// closed asks Temporal which runs ended badly of late, so that one of them is
// found soon among many thousands that wait.
func (s *sweep) closed(ctx context.Context) {
	asked := time.Now()
	since := s.closedSince
	if since.IsZero() {
		since = asked.Add(-listBack)
	}
	names := make([]string, len(closedStatuses))
	for n, status := range closedStatuses {
		names[n] = "'" + status.String() + "'"
	}
	query := fmt.Sprintf("TaskQueue = '%s' AND ExecutionStatus IN (%s) AND CloseTime >= '%s'",
		oncehook.TaskQueue, strings.Join(names, ", "), since.UTC().Format(time.RFC3339))
	var token []byte
	for range listPages {
		answer, err := s.list(ctx, query, token)
		if err != nil {
			s.partial = true
			s.away++
			s.failed(ctx, kindListing, err)
			return
		}
		if err := s.closedPage(ctx, answer); err != nil {
			return
		}
		if token = answer.GetNextPageToken(); len(token) == 0 {
			s.closedSince = asked.Add(-listOverlap)
			return
		}
	}
}

func (s *sweep) list(ctx context.Context, query string, token []byte) (*workflowservice.ListWorkflowExecutionsResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	answer, err := s.Client.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{
		Namespace: s.Namespace, Query: query, PageSize: listSize, NextPageToken: token,
	})
	if err != nil {
		return nil, fmt.Errorf("list closed runs: %w", err)
	}
	return answer, nil
}

// closedPage settles those of the listed runs whose receipts go on.
func (s *sweep) closedPage(ctx context.Context, page *workflowservice.ListWorkflowExecutionsResponse) error {
	var runs []store.ReceiptRun
	for _, info := range page.GetExecutions() {
		id, runNo, err := s.memo(info.GetMemo())
		if err != nil || id == "" {
			continue // not ours, or the walk over the receipts says what is wrong
		}
		if receiptID, err := uuid.Parse(id); err == nil {
			runs = append(runs, store.ReceiptRun{ReceiptID: receiptID, RunNo: runNo})
		}
	}
	if len(runs) == 0 {
		return nil
	}
	rows, err := s.Store.StillRunning(ctx, runs)
	if err != nil {
		s.partial = true
		s.failed(ctx, kindListing, err)
		return err
	}
	for _, row := range rows {
		if row.Pending {
			continue // its next start is on its way
		}
		if err := s.compare(named(ctx, row), row); err != nil {
			return err
		}
	}
	return nil
}

// namespaceRetention remembers how long a namespace keeps closed runs.
type namespaceRetention struct {
	keeps time.Duration
	at    time.Time
}

const (
	retentionValid = 10 * time.Minute
	// retentionLeast is the server's own minimum, for a server that does not tell.
	retentionLeast = time.Hour
)

func (n *namespaceRetention) read(ctx context.Context, c client.Client, namespace string) (time.Duration, error) {
	if !n.at.IsZero() && time.Since(n.at) < retentionValid {
		return n.keeps, nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	answer, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: namespace})
	if err != nil {
		return 0, fmt.Errorf("read the namespace's retention: %w", err)
	}
	n.keeps, n.at = max(answer.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), retentionLeast), time.Now()
	return n.keeps, nil
}
