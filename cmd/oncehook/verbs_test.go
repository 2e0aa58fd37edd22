package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/config"
)

// serving migrates and starts the listeners.
func serving(t *testing.T) (install, *background) {
	t.Helper()
	i := newInstall(t)
	require.Contains(t, i.fails(exitFailure, "migrate", "status").stdout, "missing")
	i.ok("migrate", "up")
	i.ok("migrate", "up")
	require.NotContains(t, i.ok("migrate", "status"), "missing")
	settings, err := config.Load(i.config, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	b := i.start(nil, "serve")
	b.until(30*time.Second, func() bool { return answers(hookURL(settings, "logistics")) && answers(adminURL(settings)) }, "the listeners answer")
	return i, b
}

func answers(url string) bool {
	response, err := http.Get(url)
	if err != nil {
		return false
	}
	return response.Body.Close() == nil
}

func TestAnEventIsSentListedShownAndTraced(t *testing.T) {
	t.Parallel()
	i, serve := serving(t)

	sent := i.ok("send", "logistics", "shipment.depot_arrival", "--id", "event-1", "--times", "3", "--concurrency", "2", "--set", "depot_id=depot-7", "--set", "note=a;b=c,d")
	lines := strings.Split(strings.TrimSpace(sent), "\n")
	require.Len(t, lines, 4, "a line for each answer, and the sum")
	require.Contains(t, sent, "202  accepted")
	require.Contains(t, lines[3], "1 accepted, 2 duplicate", "one body for all copies")
	require.Contains(t, lines[0], "event_key=logistics:north:event-1", "the tenant is the source's first")

	i.ok("send", "logistics", "shipment.depot_arrival", "--id", "event-1", "--tenant", "south")
	fresh := i.ok("send", "logistics", "shipment.depot_arrival")
	require.NotEqual(t, fresh, i.ok("send", "logistics", "shipment.depot_arrival"), "a new id each time")

	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"tampered": {[]string{"--tamper"}, "401  unauthenticated"},
		"conflict": {[]string{"--id", "event-1", "--set", "depot_id=depot-8"}, "409  event_conflict"},
		"tenant":   {[]string{"--tenant", "west"}, "403  tenant_forbidden"},
		"type":     {[]string{"--set", "type=nonsense"}, "422  type_unrecognized"},
		"one bad":  {[]string{"--tamper", "--times", "2"}, "2 unauthenticated"},
	} {
		r := i.fails(exitFailure, append([]string{"send", "logistics", "shipment.depot_arrival"}, c.args...)...)
		require.Contains(t, r.stdout, c.says, name)
	}
	file := filepath.Join(i.dir, "body.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"id":"event-9","tenant":"north","type":"shipment.depot_arrival","shipment_id":"s","depot_id":"d"}`), 0o600))
	require.Contains(t, i.ok("send", "logistics", "x", "--file", file), "event-9")

	var answered struct {
		Answers []struct {
			Status int            `json:"status"`
			Body   map[string]any `json:"body"`
		} `json:"answers"`
	}
	require.NoError(t, json.Unmarshal([]byte(i.ok("send", "logistics", "x", "--file", file, "-o", "json")), &answered))
	require.Equal(t, http.StatusOK, answered.Answers[0].Status)
	require.Equal(t, "duplicate", answered.Answers[0].Body["status"])

	var page api.EventPage
	require.NoError(t, json.Unmarshal([]byte(i.ok("events", "list", "--limit", "2", "--state", "received", "-o", "json")), &page))
	require.Len(t, page.Events, 2)
	rest := i.ok("events", "list", "--limit", "500", "--cursor", page.NextCursor)
	require.Equal(t, 4, strings.Count(rest, "\n"), "the heading and the other three: %s", rest)
	var fromYAML map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(i.ok("events", "list", "--tenant", "south", "-o", "yaml")), &fromYAML))
	require.Len(t, fromYAML["events"], 1)

	r := i.fails(exitUsage, "trace", "event-1")
	require.Contains(t, r.stderr, "logistics:north:event-1")
	require.Contains(t, r.stderr, "logistics:south:event-1")
	require.Empty(t, r.stdout)
	i.fails(exitFailure, "events", "show", "event-2")

	require.Contains(t, i.ok("events", "show", "logistics:north:event-1"), "3: 1 accepted and 2 duplicates; 1 conflict beside them")
	trace := i.ok("trace", "logistics:north:event-1")
	require.Contains(t, trace, "principal sender, credential 2, tenant north")
	require.Contains(t, trace, "http://temporal.test/namespaces/default/workflows/logistics:north:event-1")
	var whole api.Trace
	require.NoError(t, json.Unmarshal([]byte(i.ok("trace", page.Events[0].ReceiptId.String(), "-o", "json")), &whole))
	require.Equal(t, page.Events[0].EventKey, whole.Receipt.EventKey)

	code, _ := serve.stop(syscall.SIGTERM)
	require.Zero(t, code)
}

// correlationOf returns the correlation id of the one answer to a delivery.
func (i install) correlationOf(args ...string) string {
	i.t.Helper()
	var sent struct {
		Answers []struct {
			Body map[string]any `json:"body"`
		} `json:"answers"`
	}
	r := i.run(append([]string{"send", "logistics", "shipment.depot_arrival", "-o", "json"}, args...)...)
	require.NoError(i.t, json.Unmarshal([]byte(r.stdout), &sent), r.stderr)
	require.Len(i.t, sent.Answers, 1)
	return sent.Answers[0].Body["correlation_id"].(string)
}

func TestTheCorrelationIDOfAnyAnswerLeadsToWhatBecameOfIt(t *testing.T) {
	t.Parallel()
	i, _ := serving(t)
	accepted := i.correlationOf("--id", "event-1")
	require.Equal(t, accepted, i.correlationOf("--id", "event-1"), "a duplicate's is the first copy's")
	require.Contains(t, i.ok("events", "show", accepted), "logistics:north:event-1")
	require.Contains(t, i.ok("trace", accepted), "logistics:north:event-1")
	require.Contains(t, i.ok("trace", i.correlationOf("--id", "event-1", "--set", "depot_id=depot-9")), "1 conflict")

	rejected := i.correlationOf("--set", "type=nonsense")
	for _, verb := range [][]string{{"trace"}, {"events", "show"}} {
		r := i.fails(exitFailure, append(verb, rejected)...)
		require.Contains(t, r.stderr, "type_unrecognized (type)")
		require.Contains(t, r.stderr, "oncehook rejected show "+rejected)
		require.Empty(t, r.stdout)
	}
	shown := i.ok("rejected", "show", rejected)
	require.Contains(t, shown, "type_unrecognized")
	require.Contains(t, shown, "sender, credential 2")
	require.Contains(t, i.ok("rejected", "list", "--source", "logistics", "--code", "type_unrecognized", "--since", "1h"), rejected)
	require.NotContains(t, i.ok("rejected", "list", "--since", time.Now().Add(time.Minute).Format(time.RFC3339)), rejected)
	i.correlationOf("--set", "type=nonsense")
	require.Contains(t, i.run("rejected", "list", "--limit", "1").stderr, "--cursor")
	require.Contains(t, i.fails(exitFailure, "rejected", "show", accepted).stderr, "404 not_found")

	forged := i.correlationOf("--tamper")
	require.Contains(t, i.fails(exitFailure, "trace", forged).stderr,
		"no event and no rejected delivery has this id; refusals before authentication are counted, and their lines are in the ingress's log")
	require.Eventually(t, func() bool {
		return strings.Contains(i.ok("refusals", "list", "--source", "logistics"), "wrong_secret")
	}, 30*time.Second, 200*time.Millisecond, "counts are written every few seconds")
	var counts api.RefusalCounts
	require.NoError(t, json.Unmarshal([]byte(i.ok("refusals", "list", "--since", "1h", "-o", "json")), &counts))
	require.EqualValues(t, 1, counts.Refusals[0].Count)
	require.Equal(t, "127.0.0.0/24", counts.Refusals[0].AddressBlock)
}

func TestATokenThatTheServerDoesNotKnowSaysSo(t *testing.T) {
	t.Parallel()
	i, _ := serving(t)
	require.NoError(t, os.WriteFile(filepath.Join(i.dir, "admin"), []byte("oh_"+strings.Repeat("x", 43)), 0o600))
	require.Contains(t, i.fails(exitFailure, "events", "list").stderr, "migrate up")
	i.ok("migrate", "up")
	i.ok("events", "list")
}
