package keys_test

import (
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/tests/harness"
)

func keysetFile(s *harness.System) string {
	return filepath.Join(filepath.Dir(s.ConfigFile), "keyset.json")
}

func writeKeyset(s *harness.System, content []byte) {
	s.T.Helper()
	require.NoError(s.T, os.WriteFile(keysetFile(s), content, 0o600))
}

// change applies one step of a rotation, with all its checks, to the keyset that
// processes started from now on load.
func change(s *harness.System, step func(*app.Keys) error) error {
	s.T.Helper()
	settings, err := app.LoadSettings(s.ConfigFile)
	require.NoError(s.T, err)
	a, err := app.New(app.Config{Settings: settings, Log: slog.New(slog.DiscardHandler)})
	require.NoError(s.T, err)
	keys, err := a.OpenKeys(s.T.Context())
	require.NoError(s.T, err)
	defer keys.Close()
	if err := step(keys); err != nil {
		return err
	}
	content, err := keys.Encode()
	require.NoError(s.T, err)
	writeKeyset(s, content)
	return nil
}

// skipChecks changes the keyset as an operator must not.
func skipChecks(s *harness.System, step func(*keyring.Keyset) error) {
	s.T.Helper()
	content, err := os.ReadFile(keysetFile(s))
	require.NoError(s.T, err)
	keyset, err := keyring.ParseKeyset(content)
	require.NoError(s.T, err)
	require.NoError(s.T, step(keyset))
	content, err = keyset.Encode()
	require.NoError(s.T, err)
	writeKeyset(s, content)
}

// primaries are the primary keys that the keyset has now.
func primaries(s *harness.System) map[keyring.Kind]uint32 {
	s.T.Helper()
	found := map[keyring.Kind]uint32{}
	skipChecks(s, func(k *keyring.Keyset) error {
		for _, kind := range keyring.Kinds() {
			found[kind], _ = k.Primary(kind)
		}
		return nil
	})
	return found
}

func arrival(id, tenant string) string {
	return fmt.Sprintf(`{"id":%q,"tenant":%q,"type":"shipment.depot_arrival","occurred_at":"2026-11-30T09:30:00Z","shipment_id":"shipment-%s","depot_id":"depot-7"}`, id, tenant, id)
}

// openRun starts a run that stays open: nothing knows its type.
func openRun(t *testing.T, s *harness.System, id string) {
	t.Helper()
	_, err := s.Temporal.Client().ExecuteWorkflow(t.Context(), client.StartWorkflowOptions{ID: id, TaskQueue: oncehook.TaskQueue}, "Unknown")
	require.NoError(t, err)
	s.Temporal.Eventually(1, "ExecutionStatus = 'Running'")
}

func deliverAgain(t *testing.T, p *harness.Process, id string) {
	t.Helper()
	p.Post("logistics", harness.LogisticsToken, arrival(id, "logistics-north")).Is(t, http.StatusOK, "duplicate")
}

// deliver posts a new event and its copy to each of two ingresses.
func deliver(t *testing.T, id string, first, second *harness.Process) {
	t.Helper()
	body := arrival(id, "logistics-north")
	first.Post("logistics", harness.LogisticsToken, body).Is(t, http.StatusAccepted, "accepted")
	second.Post("logistics", harness.LogisticsToken, body).Is(t, http.StatusOK, "duplicate")
}
