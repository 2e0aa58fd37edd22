package doctor_test

import (
	"errors"
	"net/netip"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/doctor"
	"github.com/oncehook/oncehook/internal/keyring"
)

var today = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// sound is a configuration about which nothing is to be said.
func sound() *config.Config {
	return &config.Config{
		File:    "oncehook.yaml",
		Ingress: config.Ingress{Addr: ":8080", PublicURL: "https://hooks.example.test"},
		Admin:   config.Admin{Addr: "127.0.0.1:8081", Token: oncehook.Secret("oh_0123456789abcdef0123456789abcdef")},
		Keys:    config.Keys{Identity: oncehook.Secret("identity"), Keyset: oncehook.Secret("keyset")},
		Sources: []config.Source{{
			Name: "logistics", Provider: "bearer", Types: []string{"shipment.depot_arrival"}, Reviewed: "2026-11-01",
			Principals: []oncehook.Principal{{Name: "sender", Tenants: []string{"north"}, Credentials: []oncehook.Credential{
				{Version: "1", Secret: oncehook.Secret("0123456789abcdef")},
			}}},
		}},
	}
}

type urlSigner struct {
	oncehook.Provider
	signs bool
}

func (u urlSigner) SignsURL() bool { return u.signs }

type acknowledger struct{ oncehook.Provider }

func (acknowledger) Acknowledges(code oncehook.Code) bool {
	return code == oncehook.CodeTypeUnrecognized
}

func catalog() doctor.Catalog {
	return doctor.Catalog{
		Provider: func(kind string, _ oncehook.Source) (oncehook.Provider, error) {
			if kind == "carrier-pigeon" {
				return nil, errors.New("unknown provider")
			}
			if kind == "acknowledging" {
				return acknowledger{}, nil
			}
			return urlSigner{signs: kind == "url-signing"}, nil
		},
		Routes: oncehook.Routes{{Provider: "bearer", Type: "shipment.depot_arrival", Workflow: "ShipmentDepotArrival"}},
	}
}

func TestAConfigurationInOrderIsOK(t *testing.T) {
	t.Parallel()
	found := examine(t, doctor.Config(sound(), catalog(), today))
	require.Len(t, found, 1)
	finds(t, found, doctor.OK, "oncehook.yaml", "1 source")
}

func TestTheConfigurationsFaultsAreFound(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		spoil func(*config.Config, *config.Source)
		level doctor.Level
		words []string
	}{
		"no source":                     {func(c *config.Config, _ *config.Source) { c.Sources = nil }, doctor.Warning, []string{"no source"}},
		"unknown provider":              {func(_ *config.Config, s *config.Source) { s.Provider = "carrier-pigeon" }, doctor.Blocker, []string{"serve will not start", "sources.logistics"}},
		"never reviewed":                {func(_ *config.Config, s *config.Source) { s.Reviewed = "" }, doctor.Warning, []string{"source logistics was never reviewed", "sources.NAME.reviewed"}},
		"reviewed long ago":             {func(_ *config.Config, s *config.Source) { s.Reviewed = "2025-11-01" }, doctor.Warning, []string{"last reviewed on 2025-11-01"}},
		"expired":                       {func(_ *config.Config, s *config.Source) { expire(s, -time.Hour) }, doctor.Warning, []string{"credential 1 of sender expired on 2026-11-30"}},
		"none is live":                  {func(_ *config.Config, s *config.Source) { expire(s, -time.Hour) }, doctor.Blocker, []string{"no credential is live", "401"}},
		"expires soon":                  {func(_ *config.Config, s *config.Source) { expire(s, 13*24*time.Hour) }, doctor.Warning, []string{"expires on 2026-12-13"}},
		"type without a flow":           {func(_ *config.Config, s *config.Source) { s.Types = append(s.Types, "shipment.noted") }, doctor.Warning, []string{"no workflow is for shipment.noted", "end ignored", "answered 422"}},
		"every type, no flow":           {func(_ *config.Config, s *config.Source) { s.Types, s.Provider = []string{"*"}, "other" }, doctor.OK, []string{"no workflow is for one"}},
		"type of a sender that retries": {func(_ *config.Config, s *config.Source) { s.Types, s.Provider = []string{"noted"}, "acknowledging" }, doctor.Warning, []string{"no workflow is for noted", "acknowledged and kept as rejected"}},
		"several never reviewed": {func(c *config.Config, s *config.Source) {
			s.Reviewed = ""
			other := *s
			other.Name = "acme"
			c.Sources = append(c.Sources, other)
		}, doctor.Warning, []string{"sources logistics and acme were never reviewed"}},
		"URL is signed":       {func(c *config.Config, s *config.Source) { s.Provider, c.Ingress.PublicURL = "url-signing", "" }, doctor.Blocker, []string{"ingress.public_url"}},
		"operations are open": {func(c *config.Config, _ *config.Source) { c.Telemetry.Addr = ":9464" }, doctor.Warning, []string{"telemetry.addr"}},
		"the operator's token in clear": {func(c *config.Config, _ *config.Source) {
			c.Admin.URL = "http://admin.example.com"
		}, doctor.Warning, []string{"admin.url"}},
		"admin is open": {func(c *config.Config, _ *config.Source) { c.Admin.Addr = ":8081" }, doctor.Warning, []string{"admin.addr"}},
		"everybody is trusted": {func(c *config.Config, _ *config.Source) {
			c.Ingress.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")}
		}, doctor.Warning, []string{"trusted_proxies"}},
		"plain http": {func(c *config.Config, _ *config.Source) { c.Ingress.PublicURL = "http://hooks.example.test" }, doctor.Warning, []string{"plain http"}},
		"token in clear": {func(c *config.Config, _ *config.Source) {
			c.Destinations = map[string]config.Destination{"notice": {URL: "http://notice.example.test", Token: oncehook.Secret("x")}}
		}, doctor.Warning, []string{"destinations.notice", "in clear"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			settings := sound()
			c.spoil(settings, &settings.Sources[0])
			finds(t, examine(t, doctor.Config(settings, catalog(), today)), c.level, c.words...)
		})
	}
}

func expire(s *config.Source, in time.Duration) {
	s.Principals[0].Credentials[0].Expires = today.Add(in)
}

func TestAConfigurationThatCannotBeLoadedIsOneBlockerPerProblem(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "oncehook.yaml")
	require.NoError(t, os.WriteFile(file, []byte("version: 7\nnonsense: 1\nkeys: {keyset: {file: nowhere}}\nadmin: {token: s3cr3t-canary-in-the-file}\n"), 0o600))
	_, err := config.Load(file, func(string) (string, bool) { return "", false })
	found := examine(t, doctor.Unloaded(err))
	finds(t, found, doctor.Blocker, "oncehook.yaml:1", "version")
	finds(t, found, doctor.Blocker, "oncehook.yaml:2", "nonsense")
	finds(t, found, doctor.Blocker, "oncehook.yaml:3", "keys.keyset", "oncehook keys new", "restore")
	without(t, found, "s3cr3t-canary")
	finds(t, examine(t, doctor.Unloaded(errors.New("no file"))), doctor.Blocker, "no file", "--config")
}

func TestSecretsThatOthersCanReadOrThatAreSharedAreFound(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, content string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600))
		require.NoError(t, os.Chmod(filepath.Join(dir, name), mode))
	}
	write("one", "one-canary-0123456789", 0o600)
	write("two", "two-canary-0123456789", 0o400)
	write("oncehook.yaml", `version: 1
sources:
  a: {provider: bearer, types: ["*"], principals: [{name: p, tenants: ["*"], credentials: [{version: "1", secret: {file: one}}]}]}
  b: {provider: bearer, types: ["*"], principals: [{name: p, tenants: ["*"], credentials: [{version: "1", secret: {file: two}}]}]}
`, 0o644)
	look := func() []doctor.Finding {
		t.Helper()
		c, err := config.Load(filepath.Join(dir, "oncehook.yaml"), func(string) (string, bool) { return "", false })
		require.NoError(t, err)
		found := examine(t, doctor.Secrets(c))
		without(t, found, "canary")
		return found
	}
	found := look()
	finds(t, found, doctor.OK, "2 files of secrets are closed")
	missing, err := config.Load(filepath.Join(dir, "oncehook.yaml"), func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	keys := examine(t, doctor.Keys(func() (*keyring.Keyring, error) { return nil, missing.RequireKeys() }, true, doctor.Login{}, today))
	require.Len(t, keys, 2, "a line for each")
	finds(t, keys, doctor.Blocker, "keys.identity is missing", "oncehook keys new")
	finds(t, keys, doctor.Blocker, "keys.keyset is missing", "oncehook keys new")
	finds(t, found, doctor.Warning, "admin.token is not set")

	write("one", "one-canary-0123456789", 0o644)
	finds(t, look(), doctor.Warning, "sources.a.principals[0].credentials[0].secret", "read by everybody (mode 0644)", "chmod 0600")
	write("one", "one-canary-0123456789", 0o622)
	finds(t, look(), doctor.Warning, "written by everybody")
	write("one", "one-canary-0123456789", 0o620)
	finds(t, look(), doctor.Warning, "written by its group")
	write("one", "one-canary-0123456789", 0o640)
	without(t, look(), "its file")
	require.NoError(t, os.Chmod(filepath.Join(dir, "oncehook.yaml"), 0o666))
	finds(t, look(), doctor.Warning, "the configuration", "written by everybody")

	write("one", "two-canary-0123456789", 0o600)
	finds(t, look(), doctor.Warning, "credential 1 of p at source a and credential 1 of p at source b are the same secret")
}
