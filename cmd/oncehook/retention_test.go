package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestARetentionWithNothingDueIsOneLine(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.ok("migrate", "up")
	require.Equal(t, "nothing is due\n", i.ok("migrate", "retention"))
	require.Equal(t, "nothing is due\n", i.ok("migrate", "retention", "--apply"))
	require.Contains(t, i.ok("migrate", "retention", "-o", "json"), `"retention": [`)
}
