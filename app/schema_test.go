package app_test

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/tests/harness"
)

// logged keeps what a process in this one logs.
type logged struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logged) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logged) has(text string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Contains(l.text.String(), text)
}

func eventually(t *testing.T, condition func() bool, what string) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 10*time.Millisecond, what)
}

// load makes the installation's App in this process, under a configuration that the edits change.
func load(t *testing.T, s *harness.System, edits ...string) (*app.App, *logged) {
	t.Helper()
	text, err := os.ReadFile(s.ConfigFile)
	require.NoError(t, err)
	file := filepath.Join(filepath.Dir(s.ConfigFile), "edited.yaml")
	require.NoError(t, os.WriteFile(file, []byte(strings.NewReplacer(edits...).Replace(string(text))), 0o600))
	settings, err := config.Load(file, os.LookupEnv)
	require.NoError(t, err)
	parts, log := harness.Parts(), &logged{}
	a, err := app.New(app.Config{Settings: settings, Parts: &parts, Log: slog.New(slog.NewTextHandler(log, nil))})
	require.NoError(t, err)
	return a, log
}

// otherIdentity is an edit: the configuration then names another identity key.
func otherIdentity(t *testing.T) []string {
	t.Helper()
	identity, _, err := keyring.Generate()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "identity")
	require.NoError(t, os.WriteFile(file, []byte(identity), 0o600))
	return []string{"{file: identity}", "{file: " + file + "}"}
}

func requireFault(t *testing.T, err error, fault store.SchemaFault) {
	t.Helper()
	var unusable *store.SchemaError
	require.ErrorAs(t, err, &unusable)
	require.Equal(t, fault, unusable.Fault, unusable.Reason)
}

func TestEveryRoleRefusesAnotherInstallationsDatabase(t *testing.T) {
	a, _ := load(t, harness.New(t, harness.Options{}), otherIdentity(t)...)
	for name, role := range map[string]func(context.Context) error{
		"serve":              func(ctx context.Context) error { return a.Serve(ctx, "") },
		"serve only ingress": func(ctx context.Context) error { return a.Serve(ctx, app.OnlyIngress) },
		"work":               func(ctx context.Context) error { return a.Work(ctx, nil) },
		"migrate":            a.Migrate,
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			requireFault(t, role(ctx), store.SchemaForeign)
			require.NoError(t, ctx.Err())
		})
	}
}

func TestServeWaitsForPostgreSQLAndThenRefusesAnotherInstallations(t *testing.T) {
	s := harness.New(t, harness.Options{})
	proxy := harness.NewProxy(t, s.URL)
	proxy.HoldAnswers()
	a, _ := load(t, s.Through(proxy.Addr()), otherIdentity(t)...)
	server, err := a.StartServe(t.Context(), app.OnlyIngress)
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	for range 2 {
		a := harness.Deliver(server.IngressURL()+"/hooks/logistics", harness.LogisticsToken, harness.Event("e"))
		a.Is(t, http.StatusServiceUnavailable, "unavailable")
	}
	require.Empty(t, ended, "PostgreSQL being away ends nothing")
	proxy.Pass()
	select {
	case err := <-ended:
		requireFault(t, err, store.SchemaForeign)
	case <-time.After(time.Minute):
		require.FailNow(t, "serve goes on")
	}
}

func TestWorkWaitsForMigrationsAndRefusesWhatNoWaitMends(t *testing.T) {
	s := harness.New(t, harness.Options{})
	s.Exec(`DROP SCHEMA oncehook CASCADE; DROP SCHEMA logistics CASCADE`)
	a, log := load(t, s)
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- a.Work(ctx, nil) }()
	eventually(t, func() bool { return log.has("the worker waits for its database") && log.has("lacks migration") }, "says what it waits for")
	require.NoError(t, a.Migrate(t.Context()))
	eventually(t, func() bool { return log.has("lacks a grant") }, "says that its role may do nothing in the new schema")
	s.MakeRoles(a)
	eventually(t, func() bool { return log.has("temporal does not answer yet") }, "goes on to Temporal")
	require.Empty(t, ended)
	stop()
	require.NoError(t, <-ended)

	s.Exec(`INSERT INTO oncehook.schema_versions VALUES (900, 'x', 900)`)
	requireFault(t, a.Work(t.Context(), nil), store.SchemaTooNew)
	s.Exec(`UPDATE oncehook.schema_versions SET checksum = 'x' WHERE version = 2`)
	requireFault(t, a.Work(t.Context(), nil), store.SchemaChanged)
}
