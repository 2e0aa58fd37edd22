package config_test

import (
	"log/slog"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/config"
)

func loadText(t *testing.T, text string, environ map[string]string) (*config.Config, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "oncehook.yaml")
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	return config.Load(file, func(name string) (string, bool) { value, ok := environ[name]; return value, ok })
}

func TestTelemetryIsOffUnlessItHasAnAddress(t *testing.T) {
	for name, c := range map[string]struct {
		text    string
		environ map[string]string
		addr    string
		level   slog.Level
	}{
		"absent":              {"version: 1\n", nil, "", slog.LevelInfo},
		"empty":               {"version: 1\ntelemetry: {addr: \"\"}\n", nil, "", slog.LevelInfo},
		"given":               {"version: 1\ntelemetry: {addr: \"127.0.0.1:9464\"}\nlog: {level: warn}\n", nil, "127.0.0.1:9464", slog.LevelWarn},
		"by the environment":  {"version: 1\n", map[string]string{"ONCEHOOK_TELEMETRY_ADDR": ":9465", "ONCEHOOK_LOG_LEVEL": "debug"}, ":9465", slog.LevelDebug},
		"environment over it": {"version: 1\ntelemetry: {addr: \":1\"}\n", map[string]string{"ONCEHOOK_TELEMETRY_ADDR": ":2"}, ":2", slog.LevelInfo},
	} {
		t.Run(name, func(t *testing.T) {
			loaded, err := loadText(t, c.text, c.environ)
			require.NoError(t, err)
			require.Equal(t, c.addr, loaded.Telemetry.Addr)
			require.Equal(t, c.level, loaded.Log.Level)
			again, err := loadText(t, string(loaded.Redacted()), nil)
			require.NoError(t, err)
			require.Equal(t, loaded.Telemetry, again.Telemetry)
			require.Equal(t, loaded.Log, again.Log)
		})
	}
}

func TestWrongTelemetryIsNamedByItsLine(t *testing.T) {
	_, err := loadText(t, "version: 1\ntelemetry: {addr: nowhere}\nlog:\n  level: loud\n", nil)
	require.ErrorContains(t, err, ":2: telemetry.addr must be host:port")
	require.ErrorContains(t, err, ":4: log.level must be debug, info, warn or error")
}
