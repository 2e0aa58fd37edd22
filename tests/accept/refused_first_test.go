package accept_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

// Promise 1: nobody unproven reserves anything.
func TestARefusedRequestReservesNothingForTheGenuineOne(t *testing.T) {
	s := harness.New(t, harness.Options{Rate: 0.001, Burst: 1})
	p := s.Serve()
	genuine := func(id string) string {
		return harness.Arrival(id, "logistics-north", "shipment-of-"+id, "depot-1", "2026-11-30T10:00:00Z")
	}
	cases := []struct {
		name   string
		token  string
		body   func(id string) string
		status int
		code   string
	}{
		{"no token", "", genuine, http.StatusUnauthorized, "unauthenticated"},
		{"a wrong token", harness.AcmeToken, genuine, http.StatusUnauthorized, "unauthenticated"},
		{"a tenant outside the principal's scope", harness.SandboxToken, genuine, http.StatusForbidden, "tenant_forbidden"},
		{"a body over the limit", harness.LogisticsToken, func(id string) string {
			return strings.Replace(genuine(id), "{", `{"note":"`+strings.Repeat("x", 70_000)+`",`, 1)
		}, http.StatusRequestEntityTooLarge, "body_too_large"},
		{"a missing field", harness.LogisticsToken, func(id string) string {
			return strings.Replace(genuine(id), "depot_id", "depot", 1)
		}, http.StatusUnprocessableEntity, "field_missing"},
		{"an unrecognized type", harness.LogisticsToken, func(id string) string {
			return strings.Replace(genuine(id), harness.ArrivalType, "shipment.lost", 1)
		}, http.StatusUnprocessableEntity, "type_unrecognized"},
	}
	for i, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			// Each case has a process of its own, since the rate is one event.
			id := "future-" + strings.ReplaceAll(c.name, " ", "-")
			if i > 0 {
				p.Kill()
				p = s.Serve()
			}
			p.Post("logistics", c.token, c.body(id)).Is(t, c.status, c.code)
			require.Zero(t, s.Count(`SELECT count(*) FROM oncehook.event_keys WHERE key LIKE '%' || $1`, id))
			p.Post("logistics", harness.LogisticsToken, genuine(id)).Is(t, http.StatusAccepted, "accepted")
		})
	}

	t.Run("over the rate", func(t *testing.T) {
		p.Post("logistics", harness.LogisticsToken, genuine("future-limited")).Is(t, http.StatusTooManyRequests, "rate_limited")
		p.Post("logistics", harness.LogisticsToken, genuine("future-an-unrecognized-type")).Is(t, http.StatusOK, "duplicate")
		p.Kill()
		p = s.Serve()
		p.Post("logistics", harness.LogisticsToken, genuine("future-limited")).Is(t, http.StatusAccepted, "accepted")
	})

	t.Run("a conflict", func(t *testing.T) {
		changed := strings.Replace(genuine("future-limited"), "depot-1", "depot-2", 1)
		a := p.Post("logistics", harness.LogisticsToken, changed).Is(t, http.StatusConflict, "event_conflict")
		require.NotContains(t, a.Body, "depot-1", "nothing of the first payload is shown")
		p.Post("logistics", harness.LogisticsToken, genuine("future-limited")).Is(t, http.StatusOK, "duplicate")
		require.Equal(t, 1, s.Count(`SELECT count(*) FROM oncehook.conflicts`))
	})
}
