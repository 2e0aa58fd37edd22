package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/config"
)

// The secrets of the test files; none may appear in an error or in Redacted.
const (
	dsn       = "postgres://oncehook:hunter2secret@localhost/oncehook"
	identity  = "identity-identity-identity-identity"
	keyset    = `{"version":1,"fingerprint":{},"wrap":{}}`
	admin     = "oh_admin-token-admin-token-admin-token"
	logistics = "logistics-token-logistics-token"
)

const full = `version: 1
database: {url: {file: secrets/db}}
temporal: {config_file: temporal.toml, profile: default, address: "", namespace: "", ui_url: ""}
keys: {identity: {file: secrets/identity}, keyset: {file: secrets/keyset.json}}
ingress: {addr: "127.0.0.1:8080", public_url: "https://hooks.example.test/", trusted_proxies: [10.0.0.0/8, "::1"], drain: 5s}
admin: {addr: "127.0.0.1:8081", url: "", token: {env: ADMIN_TOKEN}}
work: {local: true, local_slots: 2}
sources:
  logistics:
    provider: bearer
    principals: [{name: logistics-sender, tenants: [logistics-sandbox, logistics-north], credentials: [{version: "1", secret: {file: secrets/logistics}}]}]
    types: [shipment.depot_arrival]
    fields: {required: [shipment_id, depot_id], subject: shipment_id}
    default_tenant: ""
    personal_ids: false
    limits: {body: 1MiB, rate: 200, burst: 1000}
    retention: standard
    owner: ""
    slo: ""
    reviewed: 2026-11-30
`

func env(pairs ...string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		for n := 0; n < len(pairs); n += 2 {
			if pairs[n] == name {
				return pairs[n+1], true
			}
		}
		return "", false
	}
}

// folder writes the file and its secrets and returns the file's path.
func folder(t *testing.T, content string) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "secrets"), 0o700))
	for name, text := range map[string]string{
		"db": dsn + "\n", "identity": identity + "\n", "keyset.json": keyset + "\n", "logistics": logistics + "\r\n",
		"other": "another-token-another-token", "short": "short", "blank": " \n", "empty": "\n", "spaced": " spaced-token-spaced-token",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "secrets", name), []byte(text), 0o600))
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "temporal.toml"), nil, 0o600))
	path := filepath.Join(dir, "oncehook.yaml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func load(t *testing.T, content string, pairs ...string) (*config.Config, error) {
	t.Helper()
	return config.Load(folder(t, content), env(append(pairs, "ADMIN_TOKEN", admin)...))
}

func TestAFullFileIsReadAsWritten(t *testing.T) {
	path := folder(t, full)
	c, err := config.Load(path, env("ADMIN_TOKEN", admin))
	require.NoError(t, err)

	require.Equal(t, dsn, string(c.DatabaseURL(config.RoleIngress)))
	require.Equal(t, dsn, string(c.DatabaseURL(config.RoleMigrate)))
	require.Equal(t, identity, string(c.Keys.Identity))
	require.Equal(t, keyset, string(c.Keys.Keyset))
	require.Equal(t, admin, string(c.Admin.Token))
	require.Equal(t, filepath.Join(filepath.Dir(path), "temporal.toml"), c.Temporal.ConfigFile)
	require.Equal(t, "https://hooks.example.test", c.Ingress.PublicURL)
	require.Equal(t, []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("::1/128")}, c.Ingress.TrustedProxies)
	require.Equal(t, 5*time.Second, c.Ingress.Drain)
	require.Equal(t, config.Work{Local: true, LocalSlots: 2}, c.Work)
	require.Equal(t, []config.Source{{
		Name: "logistics", Provider: "bearer",
		Principals: []oncehook.Principal{{
			Name: "logistics-sender", Tenants: []string{"logistics-sandbox", "logistics-north"},
			Credentials: []oncehook.Credential{{Version: "1", Secret: oncehook.Secret(logistics)}},
		}},
		Types:     []string{"shipment.depot_arrival"},
		Fields:    oncehook.Fields{Required: []string{"shipment_id", "depot_id"}, Subject: "shipment_id"},
		Limits:    config.Limits{Body: 1 << 20, Rate: 200, Burst: 1000},
		Retention: "standard", Reviewed: "2026-11-30",
	}}, c.Sources)
	require.NoError(t, c.RequireDatabase(config.RoleWork))
	require.NoError(t, c.RequireKeys())
}

func TestAMinimalFileGetsDefaults(t *testing.T) {
	c, err := load(t, `version: 1
sources:
  b: &x {provider: bearer, types: ["*"], principals: [{name: s, tenants: ["*"], credentials: [{version: 2, expires: 2027-01-02T03:04:05Z, secret: {file: secrets/logistics}}]}]}
  a: {provider: bearer, types: [t], limits: {rate: 2.5}, principals: [{name: s, tenants: [t], credentials: [{version: "1", secret: {file: secrets/other}}]}]}
`)
	require.NoError(t, err)
	require.Equal(t, config.DefaultIngressAddr, c.Ingress.Addr)
	require.Equal(t, config.DefaultAdminAddr, c.Admin.Addr)
	require.Equal(t, config.Work{Local: true, LocalSlots: 2}, c.Work)
	require.Equal(t, "a", c.Sources[0].Name, "sorted by name")
	require.Equal(t, config.Limits{Body: 1 << 20, Rate: 2.5, Burst: 2}, c.Sources[0].Limits)
	require.Equal(t, config.Limits{Body: 1 << 20}, c.Sources[1].Limits, "no rate limit unless one is written")
	require.Equal(t, "2", c.Sources[1].Principals[0].Credentials[0].Version)
	require.Equal(t, time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC), c.Sources[1].Principals[0].Credentials[0].Expires)
	require.ErrorContains(t, c.RequireDatabase(config.RoleIngress), "ONCEHOOK_DATABASE_URL")
	require.ErrorContains(t, c.RequireKeys(), "keys.keyset")
}

func TestTheEnvironmentOverridesScalars(t *testing.T) {
	c, err := load(t, full,
		"ONCEHOOK_INGRESS_ADDR", "127.0.0.1:9090", "ONCEHOOK_WORK_LOCAL", "false", "ONCEHOOK_WORK_LOCAL_SLOTS", "7",
		"ONCEHOOK_SOURCES_LOGISTICS_LIMITS_BODY", "2KiB", "ONCEHOOK_TEMPORAL_UI_URL", "http://localhost:8233", "ONCEHOOK_INGRESS_PUBLIC_URL", "")
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:9090", c.Ingress.Addr)
	require.Equal(t, config.Work{Local: false, LocalSlots: 7}, c.Work)
	require.EqualValues(t, 2048, c.Sources[0].Limits.Body)
	require.Equal(t, "http://localhost:8233", c.Temporal.UIURL)
	require.Equal(t, "https://hooks.example.test", c.Ingress.PublicURL, "an empty variable counts as not set")

	_, err = load(t, full, "ONCEHOOK_WORK_LOCAL_SLOTS", "many")
	require.ErrorContains(t, err, "work.local_slots (from ONCEHOOK_WORK_LOCAL_SLOTS) must be a whole number")
}

func TestTheDatabaseVariableReplacesEveryDSN(t *testing.T) {
	const replaced = "postgres://elsewhere/x"
	c, err := load(t, strings.Replace(full, "{url: {file: secrets/db}}", "{ingress: {file: secrets/db}, work: {file: absent}}", 1), "ONCEHOOK_DATABASE_URL", replaced)
	require.NoError(t, err)
	for _, role := range []string{config.RoleIngress, config.RoleWork, config.RoleAdmin, config.RoleMigrate} {
		require.Equal(t, replaced, string(c.DatabaseURL(role)), role)
	}
}

func TestEachRoleMayHaveItsOwnDSN(t *testing.T) {
	c, err := load(t, strings.Replace(full, "{url: {file: secrets/db}}", "{url: {file: secrets/db}, ingress: {file: secrets/other}}", 1))
	require.NoError(t, err)
	require.Equal(t, "another-token-another-token", string(c.DatabaseURL(config.RoleIngress)))
	require.Equal(t, dsn, string(c.DatabaseURL(config.RoleWork)))
}

func TestRedactedShowsNoSecretAndLoadsAgain(t *testing.T) {
	path := folder(t, full)
	environ := env("ADMIN_TOKEN", admin, "ONCEHOOK_KEYS_IDENTITY", identity)
	c, err := config.Load(path, environ)
	require.NoError(t, err)
	shown := c.Redacted()
	for _, secret := range []string{dsn, "hunter2secret", identity, keyset, admin, logistics} {
		require.NotContains(t, string(shown), secret)
	}
	require.Contains(t, string(shown), "env: ONCEHOOK_KEYS_IDENTITY")

	again := filepath.Join(t.TempDir(), "again.yaml")
	require.NoError(t, os.WriteFile(again, shown, 0o600))
	c2, err := config.Load(again, environ)
	require.NoError(t, err, string(shown))
	require.Equal(t, string(shown), string(c2.Redacted()))
	require.Equal(t, c.Sources, c2.Sources)
}

func TestTheFileIsNamedWhenItCannotBeRead(t *testing.T) {
	_, err := config.Load("/absent/oncehook.yaml", env())
	require.EqualError(t, err, "/absent/oncehook.yaml: cannot be read: no such file or directory")
}
