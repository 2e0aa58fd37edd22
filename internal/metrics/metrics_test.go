package metrics_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/metrics"
)

func scrape(t *testing.T, m *metrics.Metrics) string {
	t.Helper()
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/metrics", nil))
	require.Equal(t, 200, w.Code)
	return w.Body.String()
}

// everything makes each instrument say something.
func everything(t *testing.T) *metrics.Metrics {
	t.Helper()
	ctx := context.Background()
	m, err := metrics.New()
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, m.Close(ctx)) })
	m.Delivery(ctx, "logistics", "accepted")
	m.RejectedNotKept(ctx, "logistics")
	m.AckSeconds(ctx, "logistics", 0.002)
	m.Start(ctx, "started")
	m.DispatchSeconds(ctx, "logistics", 0.02)
	m.ActionAttempt(ctx, "logistics.record_arrival", "done")
	m.ActionSeconds(ctx, "logistics.record_arrival", "done", 0.01)
	m.ReceiptEnd(ctx, "succeeded")
	m.EventSeconds(ctx, "logistics", "succeeded", 0.1)
	sweeps, err := m.Reconcile()
	require.NoError(t, err)
	sweeps.Sweep(ctx, "whole")
	sweeps.Found(ctx, "closed")
	sweeps.Repaired(ctx, "closed", "dead_lettered")
	sweeps.Failed(ctx, "closed")
	require.NoError(t, m.ObserveLastSweep(func(context.Context) (float64, bool, error) { return 12, true, nil }))
	require.NoError(t, m.Build("v1.2.3"))
	require.NoError(t, m.ObserveBacklog(func(context.Context) (metrics.Backlog, error) {
		return metrics.Backlog{
			OldestSeconds: 1.5, Pending: 2, NeedingAPerson: 1, DeadLetters: map[string]int64{"logistics": 4},
			Uncertain: map[string]int64{"billing.notify_customer": 5}, Parked: map[string]int64{"billing.post_entry": 6},
		}, nil
	}))
	require.NoError(t, m.ObserveAcceptQueue(func(context.Context) (metrics.Queue, error) { return metrics.Queue{Events: 3, Bytes: 400}, nil }))
	require.NoError(t, m.ObservePartitions(func(context.Context) (int64, error) { return 14, nil }))
	require.NoError(t, m.ObserveKeys(func(context.Context) (map[string]float64, error) { return map[string]float64{"wrap": 30.5}, nil }))
	require.NoError(t, m.ObservePools("ingress", func() []metrics.Pool {
		return []metrics.Pool{{Name: "ingress", Used: 1, Idle: 2, Most: 6, Waits: 7, WaitSeconds: 0.5}}
	}))
	return m
}

func TestMetricNamesAreTheContract(t *testing.T) {
	m := everything(t)
	text := scrape(t, m)
	for _, line := range []string{
		`oncehook_deliveries_total{outcome="accepted",source="logistics"} 1`,
		`oncehook_ack_seconds_count{source="logistics"} 1`,
		`oncehook_ack_seconds_bucket{source="logistics",le="0.0025"} 1`,
		`oncehook_starts_total{result="started"} 1`,
		`oncehook_dispatch_seconds_count{source="logistics"} 1`,
		`oncehook_action_attempts_total{action="logistics.record_arrival",result="done"} 1`,
		`oncehook_action_seconds_count{action="logistics.record_arrival",result="done"} 1`,
		`oncehook_receipt_ends_total{state="succeeded"} 1`,
		`oncehook_event_seconds_count{source="logistics",state="succeeded"} 1`,
		`oncehook_reconcile_sweeps_total{result="whole"} 1`,
		`oncehook_reconcile_found_total{kind="closed"} 1`,
		`oncehook_reconcile_repaired_total{how="dead_lettered",kind="closed"} 1`,
		`oncehook_reconcile_failures_total{kind="closed"} 1`,
		`oncehook_reconcile_last_sweep_seconds 12`,
		`oncehook_build_info{version="v1.2.3"} 1`,
		`oncehook_outbox_oldest_seconds 1.5`,
		`oncehook_outbox_pending_rows 2`,
		`oncehook_outbox_alerted_rows 1`,
		`oncehook_dead_letter_receipts{source="logistics"} 4`,
		`oncehook_uncertain_actions{action="billing.notify_customer"} 5`,
		`oncehook_parked_actions{action="billing.post_entry"} 6`,
		`oncehook_accept_queued_events 3`,
		`oncehook_accept_queued_bytes 400`,
		`oncehook_partitions_ahead_days 14`,
		`oncehook_key_age_days{use="wrap"} 30.5`,
		`oncehook_pool_connections{pool="ingress",state="used"} 1`,
		`oncehook_pool_connections{pool="ingress",state="idle"} 2`,
		`oncehook_pool_connections{pool="ingress",state="most"} 6`,
		`oncehook_pool_waits_total{pool="ingress"} 7`,
		`oncehook_pool_wait_seconds_total{pool="ingress"} 0.5`,
		`target_info{service_name="oncehook"} 1`,
	} {
		require.Contains(t, text, line+"\n")
	}
	for _, name := range []string{"go_goroutines", "process_open_fds", "go_build_info"} {
		require.Regexp(t, "(?m)^"+name+"[ {]", text)
	}
}

// A metric that could not be read says nothing, rather than an old number.
func TestAGaugeThatCannotBeReadIsLeftOutAndCounted(t *testing.T) {
	m, err := metrics.New()
	require.NoError(t, err)
	require.NoError(t, m.ObservePartitions(func(context.Context) (int64, error) { return 0, errors.New("the database is away") }))
	scrape(t, m)
	text := scrape(t, m)
	require.NotContains(t, text, "oncehook_partitions_ahead_days")
	require.Regexp(t, `(?m)^oncehook_gauge_failures_total\{gauge="partitions"\} [12]$`, text)
}

// One reading serves scrapes that follow at once: a scraper costs few queries.
func TestScrapesShareAReading(t *testing.T) {
	m, err := metrics.New()
	require.NoError(t, err)
	reads := 0
	for range 3 { // roles of one process
		require.NoError(t, m.ObservePartitions(func(context.Context) (int64, error) { reads++; return 14, nil }))
	}
	for range 50 {
		require.Contains(t, scrape(t, m), "oncehook_partitions_ahead_days 14")
	}
	require.LessOrEqual(t, reads, 2)
}

func TestLabelsStayBoundedUnderHostileInput(t *testing.T) {
	ctx := context.Background()
	m, err := metrics.New()
	require.NoError(t, err)
	for n := range 20_000 {
		m.Delivery(ctx, fmt.Sprintf("source-%d", n), "accepted")
		m.ActionAttempt(ctx, "a.b", fmt.Sprintf("type-%d", n))
	}
	hostile := []string{"canary secret", "a\nb", "ünïcode", strings.Repeat("a", 65), `quote"`, "{}", "\xff", "<script>"}
	for _, value := range hostile {
		m.Delivery(ctx, value, value)
		m.ReceiptEnd(ctx, value)
		m.EventSeconds(ctx, value, value, 1)
	}
	text := scrape(t, m)
	for _, value := range hostile {
		require.NotContains(t, text, value)
	}
	require.Contains(t, text, `oncehook_receipt_ends_total{state="other"} 8`)
	require.Less(t, strings.Count(text, "\noncehook_deliveries_total{"), 520)
	require.Less(t, strings.Count(text, "\noncehook_action_attempts_total{"), 520)
}

var (
	documented = regexp.MustCompile("(?m)^\\| `(oncehook_[a-z_]+)` \\| [a-z]+ \\| [^|]+ \\| ([^|]+) \\|")
	word       = regexp.MustCompile("`([a-z_]+)`")
	series     = regexp.MustCompile(`(?m)^(oncehook_[a-z_]+)(?:\{([^}]*)\})? `)
	labelName  = regexp.MustCompile(`([a-z_]+)="`)
)

// The page for operators names every metric and its labels, and no other.
func TestTheDocumentationNamesEveryMetricWithItsLabels(t *testing.T) {
	page, err := os.ReadFile("../../docs/operations/metrics.md")
	require.NoError(t, err)
	want := map[string]string{}
	for _, row := range documented.FindAllStringSubmatch(string(page), -1) {
		var labels []string
		for _, label := range word.FindAllStringSubmatch(row[2], -1) {
			labels = append(labels, label[1])
		}
		slices.Sort(labels)
		require.NotContains(t, want, row[1], "documented twice")
		want[row[1]] = strings.Join(labels, ",")
	}
	m := everything(t)
	broken, err := metrics.New()
	require.NoError(t, err)
	require.NoError(t, broken.ObservePartitions(func(context.Context) (int64, error) { return 0, errors.New("away") }))
	scrape(t, broken)
	have := map[string]string{}
	for _, line := range series.FindAllStringSubmatch(scrape(t, m)+scrape(t, broken), -1) {
		name := line[1]
		for _, part := range []string{"_bucket", "_count", "_sum"} {
			name = strings.TrimSuffix(name, part)
		}
		var labels []string
		for _, label := range labelName.FindAllStringSubmatch(line[2], -1) {
			if label[1] != "le" {
				labels = append(labels, label[1])
			}
		}
		slices.Sort(labels)
		have[name] = strings.Join(labels, ",")
	}
	require.NotEmpty(t, have)
	require.Equal(t, slices.Sorted(maps.Keys(want)), slices.Sorted(maps.Keys(have)))
	require.Equal(t, want, have)
}

func TestNilMetricsAreUsable(t *testing.T) {
	var m *metrics.Metrics
	ctx := context.Background()
	m.Delivery(ctx, "logistics", "accepted")
	m.AckSeconds(ctx, "logistics", 1)
	m.Start(ctx, "started")
	m.DispatchSeconds(ctx, "logistics", 1)
	m.ActionAttempt(ctx, "logistics.record_arrival", "done")
	m.ActionSeconds(ctx, "logistics.record_arrival", "done", 1)
	m.ReceiptEnd(ctx, "succeeded")
	m.EventSeconds(ctx, "logistics", "succeeded", 1)
	require.NoError(t, m.Build("v1"))
	require.NoError(t, m.ObserveBacklog(nil))
	require.NoError(t, m.ObserveAcceptQueue(nil))
	require.NoError(t, m.ObservePartitions(nil))
	require.NoError(t, m.ObserveKeys(nil))
	require.NoError(t, m.ObservePools("ingress", nil))
	require.NoError(t, m.Close(ctx))
}
