package main_test

import (
	"context"
	"database/sql"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	enumspb "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	_ "modernc.org/sqlite"
)

const echoQueue = "echo"

// Echo is the smallest workflow with a result.
func Echo(_ workflow.Context, word string) (string, error) { return word, nil }

// runEcho completes one workflow, with a worker that lives as long as the call.
func runEcho(t *testing.T, c client.Client, options client.StartWorkflowOptions) {
	t.Helper()
	w := worker.New(c, echoQueue, worker.Options{})
	w.RegisterWorkflow(Echo)
	require.NoError(t, w.Start())
	defer w.Stop()
	options.TaskQueue = echoQueue
	run, err := c.ExecuteWorkflow(t.Context(), options, Echo, "hello")
	require.NoError(t, err)
	var word string
	require.NoError(t, run.Get(t.Context(), &word))
	require.Equal(t, "hello", word)
}

func TestCompletedWorkflowSurvivesSIGKILL(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a b?#%41.db")
	p := start(t, "--headless", "--db-filename", file)
	runEcho(t, p.dial(t), client.StartWorkflowOptions{ID: "once"})
	p.kill()
	require.FileExists(t, file)

	p = start(t, "--headless", "--db-filename", file)
	c := p.dial(t)
	described, err := c.DescribeWorkflowExecution(t.Context(), "once", "")
	require.NoError(t, err)
	require.Equal(t, enumspb.WORKFLOW_EXECUTION_STATUS_COMPLETED, described.GetWorkflowExecutionInfo().GetStatus())
	var word string
	require.NoError(t, c.GetWorkflow(t.Context(), "once", "").Get(t.Context(), &word))
	require.Equal(t, "hello", word)

	_, err = c.ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{
		ID:                                       "once",
		TaskQueue:                                echoQueue,
		WorkflowIDReusePolicy:                    enumspb.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
	}, Echo, "again")
	var alreadyStarted *serviceerror.WorkflowExecutionAlreadyStarted
	require.ErrorAs(t, err, &alreadyStarted)
}

func TestSearchAttributeIsAddedToExistingFile(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	start(t, "--headless", "--db-filename", file, "--search-attribute", "First=Keyword").kill()

	p := start(t, "--headless", "--db-filename", file, "--namespace", "second",
		"--search-attribute", "First=Keyword", "--search-attribute", "Count=int")
	c := p.dial(t)
	// Usable at the ready line, without waiting: no retry here.
	first, count := temporal.NewSearchAttributeKeyKeyword("First"), temporal.NewSearchAttributeKeyInt64("Count")
	runEcho(t, c, client.StartWorkflowOptions{
		ID:                    "tagged",
		TypedSearchAttributes: temporal.NewSearchAttributes(first.ValueSet("a"), count.ValueSet(7)),
	})
	listedEventually(t, c, "First = 'a' AND Count = 7", "tagged")
}

func TestSearchAttributeOfAnotherTypeIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	start(t, "--headless", "--db-filename", file, "--search-attribute", "First=Keyword").kill()
	message := refused(t, "server", "start-dev", "--port", "0", "--headless", "--db-filename", file, "--search-attribute", "First=Int")
	require.Contains(t, message, "search attribute First is Keyword there, asked for as Int")
}

func TestFileOfAnotherServerVersionIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	start(t, "--headless", "--db-filename", file).kill()
	execSQL(t, file, `UPDATE temporal_dev SET server_version = '1.31.0'`)
	message := refused(t, "server", "start-dev", "--port", "0", "--headless", "--db-filename", file)
	require.Contains(t, message, "made by server 1.31.0, this is server 1.32.1")
}

func TestFileInUseIsRefused(t *testing.T) {
	file := filepath.Join(t.TempDir(), "a.db")
	start(t, "--headless", "--db-filename", file)
	message := refused(t, "server", "start-dev", "--port", "0", "--headless", "--db-filename", file)
	require.Contains(t, message, "in use by another temporal-dev")
}

func TestFileThatIsNotOursIsRefusedAndKept(t *testing.T) {
	dir := t.TempDir()
	text := filepath.Join(dir, "notes.txt")
	require.NoError(t, os.WriteFile(text, []byte("shopping list: bread"), 0o600))
	foreign := filepath.Join(dir, "foreign.db")
	execSQL(t, foreign, `CREATE TABLE mine (x)`)
	for _, test := range []struct{ name, file, says string }{
		{"text", text, "is not a SQLite database"},
		{"foreign database", foreign, "was not made by temporal-dev"},
		{"folder", dir, "is not a regular file"},
		{"device", os.DevNull, "is not a regular file"},
		{"missing folder", filepath.Join(dir, "none", "a.db"), "is not a directory"},
		{"folder that is a file", filepath.Join(text, "a.db"), "is not a directory"},
	} {
		t.Run(test.name, func(t *testing.T) {
			before := content(t, test.file)
			message := refused(t, "server", "start-dev", "--port", "0", "--headless", "--db-filename", test.file)
			require.Contains(t, message, test.says)
			require.Equal(t, before, content(t, test.file))
		})
	}
}

func TestEmptyFileIsUsed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "empty.db")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	start(t, "--headless", "--db-filename", file)
	require.Equal(t, []byte("SQLite format 3\x00"), content(t, file)[:16])
}

func execSQL(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	_, err = db.ExecContext(context.Background(), statement)
	require.NoError(t, err)
}

// content is nil for what is no regular file.
func content(t *testing.T, file string) []byte {
	t.Helper()
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() {
		return nil
	}
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	return data
}
