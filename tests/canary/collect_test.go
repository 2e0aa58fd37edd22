package canary_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/devstack"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/tests/harness"
)

// parts2types are the event types whose workflows go wrong.
func parts2types() map[string]func(context.Context) error { return effects(app.Outside{}) }

// collect gathers everything that anybody could read.
func collect(t *testing.T, s *harness.System, collector *harness.Collector, receipts map[string]string, processes map[string]*harness.Process) places {
	t.Helper()
	all := places{}
	admin(t, all, processes["serve"], receipts)
	commands(t, all, s, processes["serve"], receipts)
	_, operations := harness.Get(processes["work"].OperationsURL() + "/metrics")
	all["metrics/work"] = []byte(operations)
	_, ready := harness.Get(processes["work"].OperationsURL() + "/readyz")
	all["health/work"] = []byte(ready)
	all["database/pg_stat_activity"] = []byte(s.Text(`SELECT a::text FROM pg_stat_activity a WHERE a.pid <> pg_backend_pid()`))
	all["database/roles"] = []byte(s.Text(`SELECT rolname || ' ' || coalesce(array_to_string(rolconfig, ' '), '') FROM pg_roles`))
	log, err := os.ReadFile(pgtest.Server(t).LogFile())
	require.NoError(t, err)
	all["postgres/log"] = log
	for place, content := range s.Temporal.Everything() {
		all["temporal/"+place] = content
	}
	require.Eventually(t, func() bool { return len(collector.Raw()) > 0 }, 10*time.Second, 20*time.Millisecond)
	for name, p := range processes {
		p.Stop() // which flushes logs, sums and spans
		all["log/"+name] = []byte(p.Log())
	}
	all["traces"] = collector.Raw()
	tables(all, s)
	for place, content := range all {
		require.NotEmpty(t, content, place)
	}
	return all
}

// tables reads every row of every table as text; bytes are in hexadecimal there.
func tables(all places, s *harness.System) {
	s.T.Helper()
	names := strings.Fields(s.Text(`SELECT format('%I.%I', n.nspname, c.relname) FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
		WHERE c.relkind IN ('r', 'p') AND NOT c.relispartition AND n.nspname NOT LIKE 'pg\_%' AND n.nspname <> 'information_schema'`))
	for _, name := range names {
		if text := s.Text(`SELECT t::text FROM ` + name + ` t`); text != "" {
			all["database/"+name] = []byte(text)
		}
	}
}

// admin asks the admin API for all that it tells, with and without a token.
func admin(t *testing.T, all places, serve *harness.Process, receipts map[string]string) {
	t.Helper()
	paths := map[string]string{
		"metrics": "/metrics", "health": "/readyz", "document": "/openapi.json", "events": "/api/v1/events?limit=100",
		"unknown": "/api/v1/nothing", "nobody": "/api/v1/lookup?q=nobody",
	}
	for eventType, receipt := range receipts {
		paths["event/"+eventType] = "/api/v1/events/" + receipt
		paths["trace/"+eventType] = "/api/v1/events/" + receipt + "/trace"
		paths["lookup/"+eventType] = "/api/v1/lookup?q=" + receipt
	}
	for place, path := range paths {
		_, text := harness.Get(serve.AdminURL+path, "Authorization: Bearer "+harness.AdminToken)
		all["admin/"+place] = []byte(text)
		_, text = harness.Get(serve.AdminURL+path, "Authorization: Bearer "+harness.AdminToken+"x")
		all["admin/forged/"+place] = []byte(text)
	}
}

// commands runs the operators' verbs of the real command.
func commands(t *testing.T, all places, s *harness.System, serve *harness.Process, receipts map[string]string) {
	t.Helper()
	root, err := devstack.FindRoot()
	require.NoError(t, err)
	binary := filepath.Join(t.TempDir(), "oncehook")
	build := exec.Command("go", "build", "-o", binary, "./cmd/oncehook")
	build.Dir = root
	output, err := build.CombinedOutput()
	require.NoError(t, err, "%s", output)
	verbs := map[string][]string{
		"config": {"config"}, "sources": {"sources", "list"}, "events": {"events", "list"}, "doctor": {"doctor"},
		"keys": {"keys", "list"}, "migrate": {"migrate", "status"}, "help": {"--help"}, "unknown": {"events", "show", "nobody"},
	}
	for eventType, receipt := range receipts {
		verbs["trace/"+eventType] = []string{"trace", receipt}
	}
	for place, args := range verbs {
		var out bytes.Buffer
		command := exec.Command(binary, args...)
		command.Env = append(os.Environ(), "ONCEHOOK_CONFIG="+s.ConfigFile, "ONCEHOOK_ADMIN_URL="+serve.AdminURL)
		command.Stdout, command.Stderr = &out, &out
		_ = command.Run() // some of it is meant to fail
		all["cli/"+place] = out.Bytes()
	}
}
