package main

import (
	"encoding/json"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/doctor"
)

// report is what doctor prints as JSON.
type report struct {
	Configuration string           `json:"configuration"`
	Findings      []doctor.Finding `json:"findings"`
	Blockers      int              `json:"blockers"`
	Warnings      int              `json:"warnings"`
}

func (i install) examined(code int) report {
	i.t.Helper()
	r := i.run("doctor", "--output", "json")
	require.Equal(i.t, code, r.code, r.stdout+r.stderr)
	var found report
	require.NoError(i.t, json.Unmarshal([]byte(r.stdout), &found), r.stdout)
	require.Equal(i.t, doctor.Count(found.Findings, doctor.Blocker), found.Blockers)
	return found
}

func (r report) has(level doctor.Level, area, word string) bool {
	for _, f := range r.Findings {
		if f.Level == level && f.Area == area && strings.Contains(f.Text, word) {
			return true
		}
	}
	return false
}

func TestDoctorSaysWhatKeepsAnInstallationFromWorking(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	before := i.examined(exitFailure)
	require.True(t, before.has(doctor.Blocker, "schema", "ingress, work, admin and migrate: the schema is missing"))
	for _, area := range []string{"partitions", "backlog", "keys", "grants"} {
		require.True(t, before.has(doctor.Skipped, area, "not examined: the schema is missing"), area)
	}
	require.NotContains(t, i.run("doctor").stdout, "SQLSTATE")

	i.ok("migrate", "up")
	found := i.examined(exitFailure)
	require.Equal(t, i.config, found.Configuration)
	for _, area := range []string{"config", "secrets", "keys", "database", "schema", "partitions", "backlog"} {
		require.True(t, found.has(doctor.OK, area, ""), area)
	}
	require.False(t, found.has(doctor.Blocker, "schema", ""))
	require.True(t, found.has(doctor.Blocker, "database", "fsync is off"), "the tests' own server")
	require.True(t, found.has(doctor.Blocker, "temporal", "127.0.0.1:1 does not answer"))
	require.True(t, found.has(doctor.Warning, "grants", "ingress, work, admin and migrate share one superuser login"))
	require.True(t, found.has(doctor.Warning, "config", "never reviewed"))

	r := i.fails(exitFailure, "doctor")
	require.Regexp(t, `(?m)^blocker +temporal +127\.0\.0\.1:1 does not answer: .+ — see that it runs`, r.stdout)
	require.Contains(t, r.stderr, "blockers found")
	require.Len(t, strings.Split(strings.TrimSpace(r.stdout), "\n"), len(found.Findings), "one line for each")

	for name := range map[string]bool{"identity": true, "keyset": true, "admin": true, "db": true, "sender": true, "next": true} {
		secret, err := os.ReadFile(filepath.Join(i.dir, name))
		require.NoError(t, err)
		require.NotContains(t, r.stdout+r.stderr, strings.TrimSpace(string(secret)), name)
	}
	dsn, err := os.ReadFile(i.databaseFile())
	require.NoError(t, err)
	u, err := url.Parse(string(dsn))
	require.NoError(t, err)
	password, _ := u.User.Password()
	require.NotEmpty(t, password)
	require.NotContains(t, r.stdout+r.stderr, password)
}

func TestDoctorExaminesWhatItCanWhenOthersAreAway(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	require.NoError(t, os.WriteFile(i.databaseFile(), []byte("postgres://someone:hunter2-canary@127.0.0.1:1/none"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(i.dir, "keyset"), []byte(`{"version":1,"canary":"s3cr3t"}`), 0o644))
	require.NoError(t, os.Chmod(filepath.Join(i.dir, "keyset"), 0o644))
	found := i.examined(exitFailure)
	require.True(t, found.has(doctor.Blocker, "database", "cannot be reached"))
	about := 0
	for _, f := range found.Findings {
		if strings.Contains(f.Text, "cannot be reached") && f.Level != doctor.Skipped {
			about++
			require.Contains(t, f.Remedy, "database.url")
		}
	}
	require.Equal(t, 1, about, "the consequences are not repeated")
	require.True(t, found.has(doctor.Blocker, "keys", "keyset"))
	require.True(t, found.has(doctor.Warning, "secrets", "read by everybody"))
	require.True(t, found.has(doctor.OK, "config", ""))
	out := i.run("doctor").stdout
	require.NotContains(t, out, "canary")
	require.NotContains(t, out, "s3cr3t")
}

func TestDoctorNamesTheLinesOfAConfigurationThatCannotBeLoaded(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	require.NoError(t, os.WriteFile(i.config, []byte("version: 7\nadmin: {token: s3cr3t-canary-written-here}\n"), 0o600))
	r := i.fails(exitFailure, "doctor")
	require.Contains(t, r.stdout, "oncehook.yaml:1")
	require.Contains(t, r.stdout, "oncehook.yaml:2")
	require.NotContains(t, r.stdout+r.stderr, "canary")
	require.Contains(t, install{t: t, dir: t.TempDir()}.fails(exitUsage, "doctor").stderr, "oncehook dev")
}
