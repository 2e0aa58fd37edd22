package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// patience bounds a stop that has nothing to wait for.
const patience = 5 * time.Second

func TestASignalEndsARoleInOrderWhateverItStillWaitsFor(t *testing.T) {
	t.Parallel()
	nowhere := "postgres://nobody@127.0.0.1:1/nothing"
	for name, c := range map[string]struct {
		args  []string
		set   string // another database
		ready bool   // it is migrated
		until string // what the log says by then
	}{
		"work waits for PostgreSQL":  {args: []string{"work"}, set: nowhere, until: "the worker waits for its database"},
		"work waits for the schema":  {args: []string{"work"}, until: "lacks migration"},
		"work waits for Temporal":    {args: []string{"work"}, ready: true, until: "temporal does not answer yet"},
		"serve waits for PostgreSQL": {args: []string{"serve"}, set: nowhere, until: "postgresql does not answer"},
		"serve waits for the schema": {args: []string{"serve"}, until: "lacks migration"},
		"the ingress alone":          {args: []string{"serve", "--only", "ingress"}, ready: true, until: "ingress listens"},
		"the admin API alone":        {args: []string{"serve", "--only", "admin"}, ready: true, until: "admin listens"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := newInstall(t)
			if c.set != "" {
				require.NoError(t, os.WriteFile(filepath.Join(i.dir, "db"), []byte(c.set), 0o600))
			}
			if c.ready {
				i.ok("migrate", "up")
			}
			b := i.start(nil, c.args...)
			b.until(30*time.Second, func() bool { return strings.Contains(b.output.String(), c.until) }, "says "+c.until)
			code, took := b.stop(syscall.SIGTERM)
			require.Zero(t, code, b.output.String())
			require.Less(t, took, patience)
		})
	}
}

func TestASecondSignalEndsARoleAtOnce(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	b := i.start([]string{"ONCEHOOK_INGRESS_DRAIN=5m"}, "serve", "--only", "ingress")
	listens := regexp.MustCompile(`"ingress listens","url":"([^"]+)"`)
	url := ""
	b.until(30*time.Second, func() bool {
		if found := listens.FindStringSubmatch(b.output.String()); found != nil {
			url = found[1]
		}
		return url != ""
	}, "listens")
	require.NoError(t, b.cmd.Process.Signal(syscall.SIGTERM))
	b.until(patience, func() bool {
		answer, err := http.Get(url + "/readyz")
		if err != nil {
			return false
		}
		require.NoError(t, answer.Body.Close())
		return answer.StatusCode == http.StatusServiceUnavailable && answer.Close
	}, "drains")
	code, took := b.stop(syscall.SIGTERM)
	require.Less(t, took, patience)
	require.NotZero(t, code, "what it was doing is cut off")
	require.Equal(t, syscall.SIGTERM, b.cmd.ProcessState.Sys().(syscall.WaitStatus).Signal())
}

func TestADrainThatCannotBeginFailsInTime(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.ok("migrate", "up")
	began := time.Now()
	r := i.run("work", "--drain", "--drain-timeout", "1s")
	require.Equal(t, exitFailure, r.code)
	require.Empty(t, r.stdout)
	require.Contains(t, r.stderr, "oncehook: not drained within 1s: nothing could be seen\n")
	require.Less(t, time.Since(began), 10*time.Second)

	b := i.start(nil, "work", "--drain")
	b.until(30*time.Second, func() bool { return strings.Contains(b.output.String(), "temporal does not answer yet") }, "waits for Temporal")
	code, _ := b.stop(syscall.SIGTERM)
	require.Equal(t, exitFailure, code, "it is not drained")
	require.Contains(t, b.output.String(), "oncehook: stopped before it was drained")
}
