package harness

import (
	"context"
	"os"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"google.golang.org/protobuf/proto"
)

// Everything is what the server tells about each run (description and history) and
// what it has on its disk: database and log, by place.
func (s *Temporal) Everything() map[string][]byte {
	s.t.Helper()
	ctx := context.Background()
	c := s.client()
	defer c.Close()
	all := map[string][]byte{}
	listed, err := c.ListWorkflow(ctx, &workflowservice.ListWorkflowExecutionsRequest{Namespace: "default"})
	require.NoError(s.t, err)
	all["list"] = encoded(s, listed)
	for _, run := range listed.GetExecutions() {
		id := run.GetExecution()
		described, err := c.DescribeWorkflow(ctx, id.GetWorkflowId(), id.GetRunId())
		require.NoError(s.t, err)
		all["description/"+id.GetRunId()] = encoded(s, described.RawResponse)
		events := c.GetWorkflowHistory(ctx, id.GetWorkflowId(), id.GetRunId(), false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
		for events.HasNext() {
			event, err := events.Next()
			require.NoError(s.t, err)
			place := "history/" + id.GetRunId()
			all[place] = append(all[place], encoded(s, event)...)
		}
	}
	for place, file := range map[string]string{"file": s.config.DBFile, "file-wal": s.config.DBFile + "-wal", "log": s.config.LogFile} {
		if content, err := os.ReadFile(file); err == nil && len(content) > 0 {
			all[place] = content
		}
	}
	return all
}

func encoded(s *Temporal, m proto.Message) []byte {
	s.t.Helper()
	b, err := proto.Marshal(m)
	require.NoError(s.t, err)
	return b
}
