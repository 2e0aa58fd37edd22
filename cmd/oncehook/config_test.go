package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnUnknownProviderIsRefusedByItsLineWhereEventsAreReceived(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.edit("provider: bearer", "provider: carrier-pigeon")
	for _, args := range [][]string{{"config"}, {"serve"}, {"send", "logistics", "shipment.depot_arrival"}} {
		r := i.fails(exitFailure, args...)
		require.Contains(t, r.stderr, "oncehook.yaml:9: sources.logistics.provider names an unknown kind, carrier-pigeon; known are bearer, ")
	}
	var found report
	require.NoError(t, json.Unmarshal([]byte(i.run("doctor", "-o", "json").stdout), &found))
	require.True(t, found.has("blocker", "config", "sources.logistics.provider"))
	// A binary with providers of its own shares the database and the other verbs.
	i.run("migrate", "up")
}
