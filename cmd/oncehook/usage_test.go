package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWrongQuestionIsAUsageErrorThatSaysWhatToDo(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"unknown verb":       {[]string{"nonsense"}, "--help"},
		"unknown flag":       {[]string{"work", "--nonsense"}, "see oncehook work --help"},
		"missing argument":   {[]string{"events", "show"}, "see oncehook events show --help"},
		"unknown role":       {[]string{"serve", "--only", "work"}, `must be one of "ingress","admin"`},
		"unknown format":     {[]string{"events", "list", "-o", "xml"}, "table"},
		"unknown state":      {[]string{"events", "list", "--state", "done"}, "dead_lettered"},
		"not a time":         {[]string{"refusals", "list", "--since", "yesterday"}, "24h"},
		"not an id":          {[]string{"rejected", "show", "event-1"}, "rejected list"},
		"unknown source":     {[]string{"send", "nowhere", "x"}, "there are: logistics"},
		"no copies":          {[]string{"send", "logistics", "x", "--times", "0"}, "--times"},
		"copies in words":    {[]string{"send", "logistics", "x", "--times", "many"}, "must be a whole number"},
		"too many at once":   {[]string{"send", "logistics", "x", "--concurrency", "100000"}, "--concurrency"},
		"file and id":        {[]string{"send", "logistics", "x", "--file", "-", "--id", "y"}, "--file"},
		"no drain":           {[]string{"work", "--drain-timeout", "5s"}, "--drain"},
		"no time to drain":   {[]string{"work", "--drain", "--drain-timeout", "-5s"}, "--drain-timeout"},
		"dev: no port":       {[]string{"dev", "--ingress-addr", "localhost"}, "HOST:PORT"},
		"dev: not a port":    {[]string{"dev", "--admin-addr", "localhost:http"}, "number"},
		"dev: port too high": {[]string{"dev", "--temporal-port", "70000"}, "--temporal-port"},
		"dev: no folder":     {[]string{"dev", "--ready-file", "/nowhere/ready"}, "folder"},
		"dev: one address":   {[]string{"dev", "--ingress-addr", "127.0.0.1:9", "--admin-addr", "127.0.0.1:9"}, "both"},
	} {
		t.Run(name, func(t *testing.T) {
			r := install{t: t, dir: i.dir, config: i.config}.fails(exitUsage, c.args...)
			require.Contains(t, r.stderr, c.says)
			require.Equal(t, 1, strings.Count(r.stderr, "\n"), "one line: %q", r.stderr)
		})
	}
}

func TestTheConfigurationIsFoundOrItsAbsenceExplained(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	nowhere := install{t: t, dir: t.TempDir()}
	r := nowhere.fails(exitUsage, "config")
	require.Contains(t, r.stderr, "oncehook dev")

	require.Contains(t, install{t: t, dir: i.dir}.ok("config"), "logistics", "oncehook.yaml of the working folder")
	require.Contains(t, nowhere.ok("--config", i.config, "config"), "logistics", "--config")

	require.NoError(t, os.Mkdir(filepath.Join(nowhere.dir, ".dev"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(nowhere.dir, ".dev", "oncehook.yaml"), []byte("version: 7\n"), 0o600))
	r = nowhere.fails(exitFailure, "config")
	require.Contains(t, r.stderr, ".dev/oncehook.yaml:1", "what is wrong with it is said by file and line")
}

func TestConfigShowsNoSecret(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	shown := i.ok("config")
	entries, err := os.ReadDir(i.dir)
	require.NoError(t, err)
	for _, e := range entries {
		if e.Name() == "oncehook.yaml" {
			continue
		}
		secret, err := os.ReadFile(filepath.Join(i.dir, e.Name()))
		require.NoError(t, err)
		require.NotContains(t, shown, string(secret), e.Name())
	}
	require.Contains(t, shown, "rate: 1000")
}

func TestASourcesTokenIsPrintedForDevOnly(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	r := i.fails(exitFailure, "sources", "token", "logistics")
	require.Empty(t, r.stdout)
	require.NotContains(t, r.stderr, testToken)

	require.NoError(t, os.WriteFile(filepath.Join(i.dir, devMarker), nil, 0o600))
	r = i.run("sources", "token", "logistics")
	require.Equal(t, result{0, nextToken + "\n", ""}, r, "the newest credential and nothing else")
	require.Empty(t, i.fails(exitUsage, "sources", "token", "nowhere").stdout)
}

func TestWithoutAServerTheErrorSaysWhatToStart(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	require.Contains(t, i.fails(exitFailure, "events", "list").stderr, "oncehook serve")
	require.Contains(t, i.fails(exitFailure, "trace", "event-1").stderr, "cannot be reached")
	require.Contains(t, i.run("send", "logistics", "shipment.depot_arrival").stdout, "connection refused")
	require.Contains(t, i.ok("version"), "oncehook ")
}
