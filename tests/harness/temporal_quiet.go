package harness

import (
	"strconv"

	"go.temporal.io/api/workflowservice/v1"
)

func countRequest(workflowID string) *workflowservice.CountWorkflowExecutionsRequest {
	return &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: "WorkflowId = " + strconv.Quote(workflowID)}
}

// silent is a logger for clients whose failures the test asserts itself.
type silent struct{}

func (silent) Debug(string, ...any) {}
func (silent) Info(string, ...any)  {}
func (silent) Warn(string, ...any)  {}
func (silent) Error(string, ...any) {}
