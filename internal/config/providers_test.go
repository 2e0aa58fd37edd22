package config_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/config"
)

func TestAnUnknownProviderIsNamedByItsLine(t *testing.T) {
	t.Parallel()
	c, err := config.Load(folder(t, full), env("ADMIN_TOKEN", admin))
	require.NoError(t, err)
	require.NoError(t, c.RequireProviders([]string{"bearer"}))
	err = c.RequireProviders([]string{"github", "stripe"})
	require.ErrorContains(t, err, "oncehook.yaml:10: sources.logistics.provider names an unknown kind, bearer; known are github, stripe")
}
