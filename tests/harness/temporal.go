package harness

import (
	"context"
	"net"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack"
)

// buildTimeout covers a first build of the server, for a run of the tests
// that nothing prepared.
const buildTimeout = 7 * time.Minute

// Temporal is a real server on a file of its own, as a process that a test can
// kill and start again.
type Temporal struct {
	t      *testing.T
	config devstack.TemporalConfig
	server *devstack.Temporal
}

// StartTemporal starts a server for the test and stops it at the test's end.
func StartTemporal(t *testing.T) *Temporal {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), buildTimeout)
	defer cancel()
	root, err := devstack.FindRoot()
	require.NoError(t, err)
	binary, err := devstack.EnsureTemporalDev(ctx, root, func(line string) { t.Log(line) })
	require.NoError(t, err)
	dir := t.TempDir()
	attributes := map[string]string{}
	for _, name := range oncehook.SearchAttributes() {
		attributes[name] = "Keyword"
	}
	s := &Temporal{t: t, config: devstack.TemporalConfig{
		Binary: binary, DBFile: filepath.Join(dir, "temporal.db"), Headless: true,
		SearchAttributes: attributes, LogFile: filepath.Join(dir, "temporal.log"),
	}}
	s.Start()
	t.Cleanup(func() { _ = s.server.Kill() })
	return s
}

// Start starts the server again, on the port that it had.
func (s *Temporal) Start() {
	s.t.Helper()
	var err error
	s.server, err = devstack.StartTemporal(context.Background(), s.config)
	require.NoError(s.t, err)
	_, port, err := net.SplitHostPort(s.server.Address())
	require.NoError(s.t, err)
	s.config.Port, err = strconv.Atoi(port)
	require.NoError(s.t, err)
}

// Kill ends the server by SIGKILL.
func (s *Temporal) Kill() {
	s.t.Helper()
	require.NoError(s.t, s.server.Kill())
}

// Address is host:port of the frontend.
func (s *Temporal) Address() string { return s.server.Address() }

func (s *Temporal) client() client.Client {
	s.t.Helper()
	c, err := client.Dial(client.Options{HostPort: s.Address(), Logger: silent{}})
	require.NoError(s.t, err)
	return c
}

// Run is what Temporal itself says of a workflow.
type Run struct {
	Status           string
	RunID            string
	SearchAttributes map[string]string
	// SummaryEncoding is how Temporal keeps the run's summary; "" is none.
	SummaryEncoding string
}

// Describe asks Temporal for the newest run of a workflow ID.
func (s *Temporal) Describe(workflowID string) Run {
	s.t.Helper()
	c := s.client()
	defer c.Close()
	ctx := context.Background()
	answer, err := c.DescribeWorkflow(ctx, workflowID, "")
	require.NoError(s.t, err)
	described := answer.RawResponse
	info := described.GetWorkflowExecutionInfo()
	run := Run{
		Status:           info.GetStatus().String(),
		RunID:            info.GetExecution().GetRunId(),
		SearchAttributes: map[string]string{},
	}
	for name, payload := range info.GetSearchAttributes().GetIndexedFields() {
		var text string
		if converter.GetDefaultDataConverter().FromPayload(payload, &text) == nil && name != "BuildIds" {
			run.SearchAttributes[name] = text
		}
	}
	run.SummaryEncoding = string(described.GetExecutionConfig().GetUserMetadata().GetSummary().GetMetadata()[converter.MetadataEncoding])
	return run
}

// StartAgain tries to start a second run under the workflow ID, as a stranger
// to oncehook would, and returns Temporal's answer.
func (s *Temporal) StartAgain(workflowID string) error {
	s.t.Helper()
	c := s.client()
	defer c.Close()
	_, err := c.ExecuteWorkflow(context.Background(), client.StartWorkflowOptions{
		ID: workflowID, TaskQueue: oncehook.TaskQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, "ShipmentDepotArrival", oncehook.Ref{})
	return err
}

// Runs counts the runs that Temporal has under a workflow ID.
func (s *Temporal) Runs(workflowID string) int {
	s.t.Helper()
	c := s.client()
	defer c.Close()
	count := 0
	require.Eventually(s.t, func() bool {
		answer, err := c.CountWorkflow(context.Background(), countRequest(workflowID))
		if err != nil {
			return false
		}
		count = int(answer.GetCount())
		return count > 0
	}, 30*time.Second, 50*time.Millisecond, "the run is not visible")
	return count
}
