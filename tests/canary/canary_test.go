package canary_test

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

const settle = 90 * time.Second

func body(id, eventType, text string) string {
	return fmt.Sprintf(`{"id":%q,"tenant":%q,"type":%q,"note":%q,"shipment_id":"s-1","depot_id":"d-1"}`, id, personTenant, eventType, text)
}

// deliver sends a body to the personal source, with headers that a sender or
// somebody between might add.
func deliver(t *testing.T, url, token, text string, change ...func(*http.Request)) harness.Answer {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url, strings.NewReader(text))
	require.NoError(t, err)
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	for _, name := range []string{"X-Canary", "User-Agent", "Cookie", "X-Request-Id", "Baggage", "Tracestate", "X-Forwarded-For"} {
		r.Header.Set(name, "k="+headerText)
	}
	r.Header.Set("Traceparent", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	for _, c := range change {
		c(r)
	}
	return harness.Do(r)
}

// refusals are deliveries that fail, each in its own way.
func refusals(t *testing.T, hook string) {
	good := body(personalID, "canary.parsing", payloadNote)
	for name, c := range map[string]struct {
		url, token, text string
		status           int
		change           func(*http.Request)
	}{
		"forged":             {hook, personalToken + "x", good, 401, nil},
		"another's secret":   {hook, harness.LogisticsToken, good, 401, nil},
		"no credential":      {hook, "", good, 401, func(r *http.Request) { r.Header.Del("Authorization") }},
		"broken credential":  {hook, "", good, 401, func(r *http.Request) { r.Header.Set("Authorization", "Basic "+personalToken) }},
		"oversized":          {hook, personalToken, body(personalID, "canary.parsing", strings.Repeat(payloadNote, 500)), 413, nil},
		"no JSON":            {hook, personalToken, `{"note": "` + payloadNote, 400, nil},
		"no type":            {hook, personalToken, `{"id":"` + personalID + `","tenant":"` + personTenant + `","note":"` + payloadNote + `"}`, 422, nil},
		"no note":            {hook, personalToken, `{"id":"` + personalID + `","tenant":"` + personTenant + `","type":"canary.parsing","` + payloadNote + `":1}`, 422, nil},
		"a name given twice": {hook, personalToken, `{"id":"` + personalID + `","id":"` + payloadNote + `","tenant":"` + personTenant + `","type":"t","note":"n"}`, 422, nil},
		"another's tenant":   {hook, personalToken, strings.Replace(good, personTenant, otherTenant, 1), 403, nil},
		"another media type": {hook, personalToken, good, 415, func(r *http.Request) { r.Header.Set("Content-Type", "text/"+headerText) }},
		"another coding":     {hook, personalToken, good, 415, func(r *http.Request) { r.Header.Set("Content-Encoding", headerText) }},
		"another method":     {hook + "?q=" + pathText, personalToken, good, 405, func(r *http.Request) { r.Method = http.MethodPut }},
		"no source":          {hook + pathText, personalToken, good, 404, nil},
		"no path":            {strings.Replace(hook, "/hooks/personal", "/"+pathText, 1), personalToken, good, 404, nil},
	} {
		a := deliver(t, c.url, c.token, c.text, func(r *http.Request) {
			if c.change != nil {
				c.change(r)
			}
		})
		require.NoError(t, a.Err, name)
		require.Equal(t, c.status, a.Status, "%s: %s", name, a.Body)
	}
}

func TestNoSecretAndNoPayloadIsWrittenShownSentOrStored(t *testing.T) {
	s, traceparents := plant(t)
	collector := harness.StartCollector(t)
	env := append(collector.Env(), "OTEL_EXPORTER_OTLP_HEADERS=api-key="+collectorKey, "ONCEHOOK_LOG_LEVEL=debug")
	serve := s.ServeWith(env...)
	work := s.WorkWith(append(env, harness.WithOperations)...)
	hook := serve.IngressURL + "/hooks/personal"
	answers := []string{}
	told := func(a harness.Answer) harness.Answer {
		answers = append(answers, a.Body, fmt.Sprint(a.Header))
		return a
	}

	told(serve.Post("logistics", harness.LogisticsToken, harness.Event("good")).Is(t, http.StatusAccepted, "accepted"))
	types := slices.Sorted(maps.Keys(parts2types()))
	receipts := map[string]string{}
	for _, eventType := range types {
		id := personalID + "-" + eventType
		text := payloadNote
		if eventType == "canary.database" {
			text = refusedNote
		}
		a := told(deliver(t, hook, personalToken, body(id, eventType, text)).Is(t, http.StatusAccepted, "accepted"))
		receipts[eventType] = a.ReceiptID
		told(deliver(t, hook, personalToken, body(id, eventType, text)).Is(t, http.StatusOK, "duplicate"))
		told(deliver(t, hook, personalToken, body(id, eventType, otherNote)).Is(t, http.StatusConflict, "event_conflict"))
	}
	refusals(t, hook)
	stripe := deliver(t, serve.IngressURL+"/hooks/stripe", "", body(personalID, "invoice.paid", payloadNote), func(r *http.Request) {
		r.Header.Set("Stripe-Signature", "t=1,v1="+harness.StripeSecret)
	})
	require.Equal(t, http.StatusUnauthorized, told(stripe).Status)

	// Each canary.* run ends without its effect.
	s.Eventually(len(types), settle, `SELECT count(*) FROM oncehook.receipts WHERE source = 'personal' AND state = 'dead_lettered'`)

	// The database refuses, and then is not there.
	s.Exec(`ALTER TABLE oncehook.receipts RENAME TO receipts_away`)
	told(deliver(t, hook, personalToken, body(personalID+"-late", "canary.parsing", payloadNote)).Is(t, http.StatusServiceUnavailable, "unavailable"))
	s.Exec(`ALTER TABLE oncehook.receipts_away RENAME TO receipts`)
	lost := s.Through("127.0.0.1:1").ServeWith(env...)
	told(deliver(t, lost.IngressURL+"/hooks/personal", personalToken, body(personalID+"-lost", "canary.parsing", payloadNote)).Is(t, http.StatusServiceUnavailable, "unavailable"))
	status, _ := harness.Get(lost.AdminURL+"/api/v1/events", "Authorization: Bearer "+harness.AdminToken)
	require.NotEqual(t, http.StatusOK, status)

	all := collect(t, s, collector, receipts, map[string]*harness.Process{"serve": serve, "work": work, "lost": lost})
	all["answers/senders"] = []byte(strings.Join(answers, "\n"))

	// What leaves is the trace's id, and the downstream's part of it is told.
	place := strings.Split(<-traceparents, "-")
	require.Len(t, place, 4)
	require.True(t, slices.ContainsFunc(collector.Spans(), func(span harness.Span) bool {
		return span.Name == "downstream POST" && span.TraceID == place[1] && span.SpanID == place[2]
	}))

	require.Empty(t, all.search(append(secrets(t, s), payloads()...)))

	// The same search finds what one effect leaks on purpose, so that it proves something.
	var where []string
	for _, hit := range all.search([]canary{{what: "decoy", text: decoy}}) {
		where = append(where, hit.place)
	}
	for _, place := range []string{"log/work", "traces", "database/oncehook.actions", "admin/trace/canary.decoy", "cli/trace/canary.decoy"} {
		require.Contains(t, where, place)
	}
}
