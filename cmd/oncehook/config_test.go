package main

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnUnknownProviderIsRefusedByItsLineEverywhere(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.edit("provider: bearer", "provider: carrier-pigeon")
	for _, args := range [][]string{{"config"}, {"serve"}, {"migrate", "up"}} {
		r := i.fails(exitFailure, args...)
		require.Contains(t, r.stderr, "oncehook.yaml:9: sources.logistics.provider names an unknown kind, carrier-pigeon; known are bearer, ")
	}
	var found report
	require.NoError(t, json.Unmarshal([]byte(i.run("doctor", "-o", "json").stdout), &found))
	require.True(t, found.has("blocker", "config", "sources.logistics.provider"))
}
