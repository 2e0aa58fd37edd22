package telemetry_test

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

const strangersTrace = "4bf92f3577b34da6a3ce929d0e0e4736"

func TestOneTraceTellsAnEventsWholeWay(t *testing.T) {
	for name, regular := range map[string]bool{"local activities": false, "regular activities": true} {
		t.Run(name, func(t *testing.T) {
			collector := harness.StartCollector(t)
			s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: regular})
			p := s.ServeWith(collector.Env()...)
			s.WorkWith(collector.Env()...)

			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, p.IngressURL+"/hooks/logistics", strings.NewReader(harness.Event("e")))
			require.NoError(t, err)
			r.Header.Set("Authorization", "Bearer "+harness.LogisticsToken)
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Traceparent", "00-"+strangersTrace+"-00f067aa0ba902b7-01")
			r.Header.Set("Baggage", "user=canary")
			a := harness.Do(r).Is(t, http.StatusAccepted, "accepted")
			s.Succeeded(1, time.Minute)

			want := []string{
				"ingress", "dispatch", "StartWorkflow:ShipmentDepotArrival", "RunWorkflow:ShipmentDepotArrival",
				"StartActivity:logistics.record_arrival", "RunActivity:logistics.record_arrival", "RunActivity:oncehook.finish",
			}
			spans := map[string]harness.Span{}
			require.Eventually(t, func() bool {
				for _, span := range collector.Spans() {
					spans[span.Name] = span
				}
				return !slices.ContainsFunc(want, func(name string) bool { return spans[name].Name == "" })
			}, 30*time.Second, 20*time.Millisecond, "of %v have %v", want, spans)

			ingress := spans["ingress"]
			require.NotEqual(t, strangersTrace, ingress.TraceID, "a stranger does not name our trace")
			require.Equal(t, []string{strangersTrace}, ingress.Links)
			require.Equal(t, "accepted", ingress.Attributes["oncehook.outcome"])
			require.Equal(t, a.CorrelationID, ingress.Attributes["oncehook.correlation_id"])
			for _, name := range want {
				require.Equal(t, ingress.TraceID, spans[name].TraceID, name)
			}
			require.Equal(t, ingress.SpanID, spans["dispatch"].ParentID)
			require.Equal(t, spans["dispatch"].SpanID, spans["StartWorkflow:ShipmentDepotArrival"].ParentID)
			require.Equal(t, spans["StartActivity:logistics.record_arrival"].SpanID, spans["RunActivity:logistics.record_arrival"].ParentID)
			effect := spans["RunActivity:logistics.record_arrival"]
			require.Equal(t, a.CorrelationID, effect.Attributes["oncehook.correlation_id"])
			require.Equal(t, "logistics.record_arrival", effect.Attributes["oncehook.action"])
			for name, span := range spans {
				for _, value := range slices.Collect(maps.Values(span.Attributes)) {
					require.NotContains(t, value, "logistics-sandbox", "a tenant in %s", name)
				}
			}
			require.NotContains(t, string(collector.Raw()), "canary")
		})
	}
}

func TestWithoutTracesNothingIsKeptForThem(t *testing.T) {
	s := harness.New(t, harness.Options{})
	s.Serve().Post("logistics", harness.LogisticsToken, harness.Event("e")).Is(t, http.StatusAccepted, "accepted")
	require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.outbox WHERE traceparent IS NULL`))
}
