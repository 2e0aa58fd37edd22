package metrics_test

import (
	"context"
	"net/http/httptest"
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

func TestMetricNamesAreTheContract(t *testing.T) {
	ctx := context.Background()
	m, err := metrics.New()
	require.NoError(t, err)
	m.Delivery(ctx, "logistics", "accepted")
	m.AckSeconds(ctx, "logistics", 0.002)
	m.Start(ctx, "started")
	m.ActionAttempt(ctx, "logistics.record_arrival", "done")
	m.ReceiptEnd(ctx, "succeeded")
	require.NoError(t, m.ObserveOutbox(func(context.Context) (metrics.Outbox, error) {
		return metrics.Outbox{OldestSeconds: 1.5, Pending: 2, NeedingAPerson: 1}, nil
	}))
	require.NoError(t, m.ObserveAcceptQueue(func(context.Context) (int64, error) { return 3, nil }))
	require.NoError(t, m.ObservePartitions(func(context.Context) (int64, error) { return 14, nil }))

	text := scrape(t, m)
	for _, line := range []string{
		`oncehook_deliveries_total{outcome="accepted",source="logistics"} 1`,
		`oncehook_ack_seconds_count{source="logistics"} 1`,
		`oncehook_starts_total{result="started"} 1`,
		`oncehook_action_attempts_total{action="logistics.record_arrival",result="done"} 1`,
		`oncehook_receipt_ends_total{state="succeeded"} 1`,
		`oncehook_outbox_oldest_seconds 1.5`,
		`oncehook_outbox_pending_rows 2`,
		`oncehook_outbox_alerted_rows 1`,
		`oncehook_accept_queued_events 3`,
		`target_info{service_name="oncehook"} 1`,
		`oncehook_partitions_ahead_days 14`,
	} {
		require.Contains(t, text, line)
	}
	require.NoError(t, m.Close(ctx))
}

func TestNilMetricsAreUsable(t *testing.T) {
	var m *metrics.Metrics
	m.Delivery(context.Background(), "logistics", "accepted")
	m.AckSeconds(context.Background(), "logistics", 1)
	m.Start(context.Background(), "started")
	m.ActionAttempt(context.Background(), "logistics.record_arrival", "done")
	m.ReceiptEnd(context.Background(), "succeeded")
	require.NoError(t, m.ObserveOutbox(nil))
	require.NoError(t, m.Close(context.Background()))
}
