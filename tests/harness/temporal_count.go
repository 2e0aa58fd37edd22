package harness

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/api/workflowservice/v1"
)

// Eventually waits until Temporal lists that many runs for a query. Its list
// follows with a little delay.
func (s *Temporal) Eventually(want int, query string) {
	s.t.Helper()
	c := s.client()
	defer c.Close()
	got := -1
	require.Eventually(s.t, func() bool {
		answer, err := c.CountWorkflow(context.Background(), &workflowservice.CountWorkflowExecutionsRequest{Namespace: "default", Query: query})
		if err != nil {
			return false
		}
		got = int(answer.GetCount())
		return got == want
	}, 30*time.Second, 100*time.Millisecond, "wanted %d runs with %s, have %d", want, query, got)
}
