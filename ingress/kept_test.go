package ingress_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/metrics"
	"github.com/oncehook/oncehook/internal/store"
)

func TestARejectedDeliveryThatIsNotKeptIsToldAtOnce(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Now()}
	m, err := metrics.New()
	require.NoError(t, err)
	s := start(t, func(s *setup) { s.Now, s.Metrics = c.read, m })
	_, err = s.db.Exec(t.Context(), `INSERT INTO oncehook.rejected_deliveries (id, at, source, principal, credential_version, peer, code, data_key_id, body, headers, expires_at)
		SELECT gen_random_uuid(), now(), 'logistics', '', '', '', '', 0, '', '', now() FROM generate_series(1, $1)`, store.RejectedCap-1)
	require.NoError(t, err)
	for range 4 {
		s.refusedWith(s.post("logistics", "{"), http.StatusBadRequest, oncehook.CodeMalformedJSON)
	}
	lines := s.logLines()
	require.Len(t, lines, 2, "one of the delivery that was kept, and one of the burst that was not")
	require.NotContains(t, lines[0], "kept")
	require.Equal(t, false, lines[1]["kept"])
	require.Equal(t, "WARN", lines[1]["level"])
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	text := w.Body.String()
	require.Contains(t, text, `oncehook_rejected_not_kept_total{source="logistics"} 3`)
	require.Contains(t, text, `oncehook_deliveries_total{outcome="rejected",source="logistics"} 4`)
}
