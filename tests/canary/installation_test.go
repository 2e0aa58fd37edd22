package canary_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/tests/harness"
)

// What is planted. Secrets may appear nowhere.
const (
	personalToken    = "canary-personal-source-7c1f9a52e8b34d06a1b2c3d4e5f60718"
	destinationToken = "canary-destination-2b8e41f7c9d05a63b4c5d6e7f8091a2b"
	databasePassword = "canary-database-90d1c2b3a4f5e6d7c8b9a0f1e2d3c4b5"
	collectorKey     = "canary-collector-55aa77cc99ee11bb33dd55ff77aa99cc"

	payloadNote   = "canary-payload-e4a7d3c9b1f0"
	headerText    = "canary-header-7f6e5d4c3b2a"
	personalID    = "canary-person-ada-c0ffee"
	pathText      = "canary-path-1b2d3f"
	personTenant  = "canary-tenant-5e6f"
	otherTenant   = "canary-tenant-of-others-77aa"
	refusedNote   = "canary-payload-that-postgresql-refuses-91c4"
	otherNote     = "canary-payload-of-the-other-copy-d00d"
	downstreamSay = "canary-downstream-answer-beef"
)

// plant makes an installation whose every secret is one that the search knows,
// and a downstream that repeats what it was told and notes its place in the trace.
func plant(t *testing.T) (s *harness.System, traceparents <-chan string) {
	t.Helper()
	places := make(chan string, 16)
	downstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		places <- r.Header.Get("Traceparent")
		http.Error(w, downstreamSay+" "+r.Header.Get("Authorization"), http.StatusBadRequest)
	}))
	t.Cleanup(downstream.Close)
	s = harness.New(t, harness.Options{Temporal: harness.StartTemporal(t), Regular: true})
	dir := filepath.Dir(s.ConfigFile)
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("personal", personalToken)
	write("destination", destinationToken)
	for _, file := range matching(t, dir, "db-*") {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		u, err := url.Parse(string(text))
		require.NoError(t, err)
		_, err = s.Pool.Exec(context.Background(), `ALTER ROLE `+u.User.Username()+` PASSWORD '`+databasePassword+`'`)
		require.NoError(t, err)
		u.User = url.UserPassword(u.User.Username(), databasePassword)
		require.NoError(t, os.WriteFile(file, []byte(u.String()), 0o600))
	}
	text, err := os.ReadFile(s.ConfigFile)
	require.NoError(t, err)
	write("oncehook.yaml", string(text)+fmt.Sprintf(`  personal:
    provider: bearer
    principals: [{name: personal-sender, tenants: [%s], credentials: [{version: "1", secret: {file: personal}}]}]
    types: ["*"]
    fields: {required: [note]}
    personal_ids: true
    limits: {body: 4KiB}
egress: {allow: [%q]}
destinations:
  %s: {url: %q, token: {file: destination}}
`, personTenant, strings.TrimPrefix(downstream.URL, "http://"), destination, downstream.URL+"/place"))
	return s, places
}

func matching(t *testing.T, dir, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	return files
}

var keyMaterial = regexp.MustCompile(`"value": ?"([^"]+)"`)

// secrets are the installation's, as canaries.
func secrets(t *testing.T, s *harness.System) []canary {
	t.Helper()
	all := map[string]string{
		"the personal source's token": personalToken, "a destination's token": destinationToken,
		"the database's password": databasePassword, "the collector's key": collectorKey,
		"a source's token": harness.LogisticsToken, "another source's token": harness.AcmeToken,
		"the admin token": harness.AdminToken, "a stripe secret": harness.StripeSecret,
	}
	dir := filepath.Dir(s.ConfigFile)
	keyset, err := os.ReadFile(filepath.Join(dir, "keyset.json"))
	require.NoError(t, err)
	found := keyMaterial.FindAllStringSubmatch(string(keyset), -1)
	require.NotEmpty(t, found)
	for n, key := range found {
		all[fmt.Sprintf("key %d of the keyset", n)] = key[1]
	}
	identity, err := os.ReadFile(filepath.Join(dir, "identity"))
	require.NoError(t, err)
	all["the identity key"] = strings.TrimSpace(string(identity))
	var list []canary
	for what, text := range all {
		require.Greater(t, len(text), 12, what)
		list = append(list, canary{what: what, text: text})
	}
	return list
}

// payloads are what senders sent.
func payloads() []canary {
	return []canary{
		{what: "a field of a body", text: payloadNote},
		{what: "a field of a conflicting body", text: otherNote},
		{what: "a header", text: headerText},
		{what: "a personal event id", text: personalID},
		{what: "a path", text: pathText},
		{what: "a downstream's answer", text: downstreamSay},
		// PostgreSQL writes what it cannot take into its own log, whoever asked it to.
		{what: "what a statement of an effect could not take", text: refusedNote, allowed: []string{"postgres/log"}},
		// Who claimed to speak for whom is evidence.
		{what: "a tenant that a sender may not speak for", text: otherTenant, allowed: []string{"database/oncehook.audit"}},
		// Operators find events by tenant: in the database, the API and Temporal, and
		// in the workflow ids of the Temporal SDK's lines.
		{what: "a tenant", text: personTenant, allowed: []string{"database/", "admin/", "temporal/", "cli/", "log/", "answers/"}},
	}
}
