package store_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func TestCountedRefusalsAreGroupedOverMinutesAndProcesses(t *testing.T) {
	t.Parallel()
	url := database(t)
	now := time.Now().UTC().Truncate(time.Minute)
	count := func(at time.Time, source string, d oncehook.Decision, cause, peer string, times int) {
		o := options(url)
		o.Now = func() time.Time { return at }
		s := openIngress(t, o)
		for range times {
			s.Count(source, d, cause, addr(peer))
		}
		s.Close()
	}
	count(now.Add(-90*time.Minute), "logistics", oncehook.Unauthenticated, "wrong_secret", "192.0.2.1", 5)
	count(now.Add(-50*time.Minute), "logistics", oncehook.Unauthenticated, "wrong_secret", "192.0.2.1", 2)
	count(now.Add(-40*time.Minute), "logistics", oncehook.Unauthenticated, "wrong_secret", "192.0.2.99", 3)
	count(now.Add(-30*time.Minute), "logistics", oncehook.Unauthenticated, "timestamp_too_old", "192.0.2.1", 1)
	count(now.Add(-20*time.Minute), "", oncehook.Unauthenticated, "source_unknown", "198.51.100.1", 1)

	admin := openAdmin(t, as(t, store.DatabaseAdmin, options(url)))
	groups, more, err := admin.Refusals(t.Context(), everything, "", now.Add(-time.Hour), 10)
	require.NoError(t, err)
	require.False(t, more)
	var told []string
	for _, g := range groups {
		told = append(told, fmt.Sprintf("%d %s %s %s %s", g.Count, g.Source, g.Outcome, g.Cause, g.AddressBlock))
	}
	require.Equal(t, []string{
		"1  unauthenticated source_unknown 198.51.100.0/24",
		"1 logistics unauthenticated timestamp_too_old 192.0.2.0/24",
		"5 logistics unauthenticated wrong_secret 192.0.2.0/24",
	}, told, "the latest first, and nothing older")
	require.True(t, groups[2].FirstAt.Equal(now.Add(-50*time.Minute)))
	require.True(t, groups[2].LastAt.Equal(now.Add(-40*time.Minute)))

	groups, more, err = admin.Refusals(t.Context(), everything, "logistics", now.Add(-2*time.Hour), 1)
	require.NoError(t, err)
	require.True(t, more)
	require.Len(t, groups, 1)

	for name, scope := range map[string]store.Scope{
		"of one tenant": {Sources: []string{"*"}, Tenants: []string{"north"}}, "of another source": {Sources: []string{"acme"}, Tenants: []string{"*"}}, "of none": {},
	} {
		groups, _, err = admin.Refusals(t.Context(), scope, "", now.Add(-2*time.Hour), 10)
		require.NoError(t, err)
		require.Empty(t, groups, name)
	}
}
