package spine_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

func TestEachRoleDoesItsPartUnderItsOwnLogin(t *testing.T) {
	s := harness.New(t, harness.Options{Temporal: harness.StartTemporal(t)})
	ingress, admin := s.ServeWith(harness.OnlyIngress), s.ServeWith(harness.OnlyAdmin)
	s.Work()

	accepted := ingress.Post("logistics", harness.LogisticsToken, demo).Is(t, http.StatusAccepted, "accepted")
	ingress.Post("logistics", harness.LogisticsToken, demo).Is(t, http.StatusOK, "duplicate")
	s.Succeeded(1, time.Minute)
	require.Equal(t, 1, s.Count(transitions))

	var seen trace
	admin.Admin("/api/v1/events/"+accepted.ReceiptID+"/trace", &seen)
	require.Equal(t, "succeeded", seen.Receipt.State)
	require.Equal(t, 2, seen.Receipt.Deliveries)
	require.Len(t, seen.Actions, 1)

	logins := `SELECT string_agg(DISTINCT usename::text || ' ' || application_name, ', ' ORDER BY usename::text || ' ' || application_name)
		FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'oncehook %'`
	require.Equal(t, "test_admin oncehook admin, test_ingress oncehook ingress, test_work oncehook work", s.Text(logins))
}
