package harness

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/keyring"
)

// The tokens of the test sources. They are long random texts made for the tests.
const (
	LogisticsToken = "test-logistics-5d1f0c7a9b3e48d2a6c4f8e17b90d35c"
	SandboxToken   = "test-sandbox-8e42b6d09f7c41a3b5e1d8f63a27c90b"
	AcmeToken      = "test-acme-1c9e7f3b5a8d46e0b2f4c6d8e0a1b3c5"
	BatchToken     = "test-batch-7a6b5c4d3e2f41908172635445362718"
	// StripeSecret and WebhooksSecret have the form that their providers give out.
	StripeSecret   = "whsec_test0f1e2d3c4b5a69788796a5b4c3d2e1f0"
	WebhooksSecret = "whsec_dGVzdC13ZWJob29rcy0wZjFlMmQzYzRiNWE2OTc4"
	GitHubSecret   = "test-github-3f2a1b0c9d8e7f6a5b4c3d2e1f0a9b8c"
	AdminToken     = "oh_test-admin-0f1e2d3c4b5a69788796a5b4c3d2e1f0"
)

// ArrivalType is the event type with a workflow.
const ArrivalType = "shipment.depot_arrival"

// System is one installation: a database, keys and a configuration file. Its
// roles are started one by one.
type System struct {
	T          *testing.T
	ConfigFile string
	// URL is the database's DSN as the superuser.
	URL      string
	Pool     *pgxpool.Pool
	Temporal *Temporal

	dir string
}

// Options change what New makes.
type Options struct {
	// Database is the DSN of an empty database; "" makes one in the shared server.
	Database string
	// Parameters are added to the roles' DSN, such as lock_timeout.
	Parameters map[string]string
	// Temporal is the server that `work` uses; nil means none.
	Temporal *Temporal
	// Regular runs Local effects as regular activities.
	Regular bool
	// Rate and Burst of the logistics source; 0 means wide enough for any test.
	Rate  float64
	Burst int
}

// New makes an installation and migrates it.
func New(t *testing.T, o Options) *System {
	t.Helper()
	s := &System{T: t, URL: o.Database, Temporal: o.Temporal, dir: t.TempDir()}
	if s.URL == "" {
		s.URL = pgtest.Empty(t)
	}
	s.writeConfig(o)
	settings, err := config.Load(s.ConfigFile, os.LookupEnv)
	require.NoError(t, err)
	parts := Parts()
	a, err := app.New(app.Config{Settings: settings, Parts: &parts})
	require.NoError(t, err)
	require.NoError(t, a.Migrate(context.Background()))
	s.MakeRoles(a)
	s.Pool, err = pgxpool.New(context.Background(), s.URL)
	require.NoError(t, err)
	t.Cleanup(s.Pool.Close)
	return s
}

func (s *System) writeConfig(o Options) {
	t := s.T
	t.Helper()
	identity, keyset, err := keyring.Generate()
	require.NoError(t, err)
	secrets := map[string]string{
		"identity": string(identity), "keyset.json": string(keyset), "db": s.URL, "admin": AdminToken,
		"logistics": LogisticsToken, "sandbox": SandboxToken, "acme": AcmeToken, "batch": BatchToken,
		"stripe": StripeSecret, "webhooks": WebhooksSecret, "github": GitHubSecret,
	}
	for name, value := range secrets {
		require.NoError(t, os.WriteFile(filepath.Join(s.dir, name), []byte(value), 0o600))
	}
	s.writeURLs("db", "", o.Parameters)
	if o.Rate == 0 {
		o.Rate, o.Burst = 1e6, 1e6
	}
	temporal := "127.0.0.1:1" // nothing listens there
	if o.Temporal != nil {
		temporal = o.Temporal.Address()
	}
	text := fmt.Sprintf(`version: 1
database: %s
temporal: {address: %q, namespace: default}
keys: {identity: {file: identity}, keyset: {file: keyset.json}}
ingress: {addr: "127.0.0.1:0"}
admin: {addr: "127.0.0.1:0", token: {file: admin}}
work: {local: %t, local_slots: 4}
sources:
  logistics:
    provider: bearer
    principals:
      - {name: logistics-sender, tenants: [logistics-sandbox, logistics-north], credentials: [{version: "1", secret: {file: logistics}}]}
      - {name: sandbox-sender, tenants: [logistics-sandbox], credentials: [{version: "7", secret: {file: sandbox}}]}
    types: [shipment.depot_arrival, shipment.noted]
    fields: {required: [shipment_id, depot_id], subject: shipment_id}
    limits: {body: 64KiB, rate: %g, burst: %d}
  acme:
    provider: bearer
    principals: [{name: acme-sender, tenants: ["*"], credentials: [{version: "1", secret: {file: acme}}]}]
    types: ["*"]
  stripe: {provider: stripe, default_tenant: dev, types: ["*"], principals: [{name: stripe, tenants: ["*"], credentials: [{version: "1", secret: {file: stripe}}]}]}
  github: {provider: github, default_tenant: dev, types: ["*"], principals: [{name: github, tenants: ["*"], credentials: [{version: "1", secret: {file: github}}]}]}
  webhooks: {provider: standard-webhooks, default_tenant: dev, types: ["*"], principals: [{name: webhooks, tenants: ["*"], credentials: [{version: "1", secret: {file: webhooks}}]}]}
  batch:
    provider: test-batch
    principals: [{name: batch-sender, tenants: ["*"], credentials: [{version: "1", secret: {file: batch}}]}]
    types: [shipment.depot_arrival]
    fields: {required: [shipment_id, depot_id], subject: shipment_id}
`, databases, temporal, !o.Regular, o.Rate, o.Burst)
	s.ConfigFile = filepath.Join(s.dir, "oncehook.yaml")
	require.NoError(t, os.WriteFile(s.ConfigFile, []byte(text), 0o600))
}

// With returns the same installation whose roles connect with other parameters.
func (s *System) With(parameters map[string]string) *System {
	s.T.Helper()
	return s.variant("parameters", "", parameters)
}

// Through returns the same installation whose roles connect through a proxy.
func (s *System) Through(addr string) *System {
	s.T.Helper()
	return s.variant("proxy", addr, nil)
}

func (s *System) variant(name, through string, parameters map[string]string) *System {
	s.T.Helper()
	other := *s
	text, err := os.ReadFile(s.ConfigFile)
	require.NoError(s.T, err)
	other.ConfigFile = filepath.Join(s.dir, name+".yaml")
	require.NoError(s.T, os.WriteFile(other.ConfigFile, []byte(strings.ReplaceAll(string(text), "{file: db-", "{file: "+name+"-")), 0o600))
	s.writeURLs(name, through, parameters)
	return &other
}

// Serve starts a `serve` process.
func (s *System) Serve() *Process { s.T.Helper(); return start(s.T, roleServe, s.ConfigFile) }

// Work starts a `work` process.
func (s *System) Work() *Process { s.T.Helper(); return start(s.T, roleWork, s.ConfigFile) }

// Count returns the single number that the query yields.
func (s *System) Count(query string, args ...any) int {
	s.T.Helper()
	var n int
	require.NoError(s.T, s.Pool.QueryRow(context.Background(), query, args...).Scan(&n))
	return n
}

// Text returns the single text that the query yields, "" for no row.
func (s *System) Text(query string, args ...any) string {
	s.T.Helper()
	rows, err := s.Pool.Query(context.Background(), query, args...)
	require.NoError(s.T, err)
	defer rows.Close()
	var all []string
	for rows.Next() {
		var text *string
		require.NoError(s.T, rows.Scan(&text))
		if text != nil {
			all = append(all, *text)
		}
	}
	require.NoError(s.T, rows.Err())
	return strings.Join(all, "\n")
}

// Exec runs a statement as the superuser.
func (s *System) Exec(query string, args ...any) {
	s.T.Helper()
	_, err := s.Pool.Exec(context.Background(), query, args...)
	require.NoError(s.T, err)
}

// Eventually waits until the query yields the number.
func (s *System) Eventually(want int, within time.Duration, query string, args ...any) {
	s.T.Helper()
	got := -1
	require.Eventually(s.T, func() bool {
		err := s.Pool.QueryRow(context.Background(), query, args...).Scan(&got)
		return err == nil && got == want
	}, within, 20*time.Millisecond, "wanted %d of %s, have %d", want, query, got)
}

// Succeeded waits until n receipts have succeeded and nothing is left to do.
func (s *System) Succeeded(n int, within time.Duration) {
	s.T.Helper()
	s.Eventually(n, within, `SELECT count(*) FROM oncehook.receipts WHERE state = 'succeeded'`)
}
