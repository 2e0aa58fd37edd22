package main

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/internal/devstack/receiver"
)

// buildPatience covers a first build of temporal-dev.
const buildPatience = 7 * time.Minute

// startDev starts dev on the data folder, with free ports.
func startDev(i install, data string, env ...string) (b *background, readyFile string) {
	i.t.Helper()
	readyFile = filepath.Join(i.t.TempDir(), "ready.json")
	return i.start(env, "dev", "--data", data, "--ingress-addr", "127.0.0.1:0", "--admin-addr", "127.0.0.1:0",
		"--temporal-port", "0", "--ui-port", "0", "--receiver-port", "0", "--ready-file", readyFile), readyFile
}

func (b *background) ready(file string) ready {
	b.t.Helper()
	var r ready
	b.until(buildPatience, func() bool {
		content, err := os.ReadFile(file)
		return err == nil && json.Unmarshal(content, &r) == nil
	}, "the ready file is written")
	return r
}

// succeeded waits until the event has succeeded and returns its trace.
func (i install) succeeded(event string) api.Trace {
	i.t.Helper()
	var trace api.Trace
	require.Eventually(i.t, func() bool {
		r := i.run("trace", event, "-o", "json")
		return r.code == 0 && json.Unmarshal([]byte(r.stdout), &trace) == nil && trace.Receipt.State == api.Succeeded
	}, 60*time.Second, 100*time.Millisecond)
	return trace
}

// sendsFromEverySource sends each kind of event as its provider would.
func (i install) sendsFromEverySource() {
	i.t.Helper()
	for source, prefix := range map[string]string{"acme": "whsec_", "stripe": "whsec_", "github": ""} {
		secret := i.ok("sources", "secret", source)
		require.True(i.t, strings.HasPrefix(secret, prefix), source)
		require.Equal(i.t, secret, i.ok("sources", "token", source))
		types := strings.Fields(i.ok("send", source))
		require.NotEmpty(i.t, types, source)
		for _, eventType := range types {
			require.Contains(i.t, i.ok("send", source, eventType), "202  accepted", "%s %s", source, eventType)
		}
		require.Contains(i.t, i.fails(exitFailure, "send", source, types[0], "--tamper").stdout, "401", source)
	}
	require.Equal(i.t, "shipment.depot_arrival\n", i.ok("send", "logistics"))
	require.Contains(i.t, i.ok("send", "stripe", "customer.created", "--id", "evt_a", "--tenant", "acct_1"), "event_key=stripe:acct_1:evt_a")
	require.Contains(i.t, i.ok("send", "stripe", "customer.created", "--id", "evt_a"), "event_key=stripe:dev:evt_a")
	require.Contains(i.t, i.fails(exitFailure, "send", "stripe", "customer.created", "--id", "evt_a", "--set", "data.object.email=other@example.test").stdout,
		"200  conflict", "Stripe would retry any other answer; a person is told")
	payload := filepath.Join(i.dir, "push.json")
	require.NoError(i.t, os.WriteFile(payload, []byte(`{"ref":"refs/heads/main","repository":{"id":7}}`), 0o600))
	require.Contains(i.t, i.ok("send", "github", "push", "--file", payload, "--id", "guid-2"), "event_key=github:repository~3A7:guid-2")
	i.fails(exitUsage, "send", "stripe", "customer.created", "--file", payload, "--id", "evt_b")
	require.Contains(i.t, i.ok("send", "github", "push", "--id", "guid-1", "--tenant", "installation:7"), "event_key=github:installation~3A7:guid-1")
}

// invoicesReach tells twice of one invoice and once of another.
func (i install) invoicesReach(url string) {
	i.t.Helper()
	i.ok("send", "stripe", "invoice.paid", "--id", "evt_1", "--set", "data.object.id=in_1")
	first := i.succeeded("evt_1")
	require.Len(i.t, first.Actions, 4)
	i.ok("send", "stripe", "invoice.paid", "--id", "evt_2", "--set", "data.object.id=in_1", "--times", "3")
	second := i.succeeded("evt_2")
	for _, action := range second.Actions[1:] {
		require.Equal(i.t, string(oncehook.ActionAlreadyDone), action.State, action.Name)
	}
	response, err := http.Get(url + receiver.Path)
	require.NoError(i.t, err)
	defer response.Body.Close()
	var got receiver.Summary
	require.NoError(i.t, json.NewDecoder(response.Body).Decode(&got))
	notices := 0
	for _, notice := range got.Notices {
		if strings.Contains(string(notice.Body), `"in_1"`) {
			notices++
			require.Equal(i.t, "stripe:dev:evt_1:billing.notify_customer", notice.IdempotencyKey)
		}
	}
	require.Equal(i.t, 1, notices)
}

// passable returns a new folder that the user postgres can enter, which t.TempDir is not.
func passable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "oncehook-dev-test-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return dir
}

func listens(address string) bool {
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(address, "http://"), time.Second)
	return err == nil && conn.Close() == nil
}

// killServers ends dev's PostgreSQL and Temporal by SIGKILL.
func killServers(t *testing.T, data string) {
	t.Helper()
	postmaster, err := os.ReadFile(filepath.Join(data, "postgres", "data", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(postmaster), "\n")
	postgres, err := strconv.Atoi(first)
	require.NoError(t, err)
	files, err := filepath.Glob(filepath.Join(data, "temporal-*.db.pid"))
	require.NoError(t, err)
	require.Len(t, files, 1)
	content, err := os.ReadFile(files[0])
	require.NoError(t, err)
	var temporal struct {
		PID int `json:"pid"`
	}
	require.NoError(t, json.Unmarshal(content, &temporal))
	for _, pid := range []int{postgres, temporal.PID} {
		require.Greater(t, pid, 1)
		require.NoError(t, syscall.Kill(pid, syscall.SIGKILL))
	}
}

func TestDevRunsEverythingAndFindsYesterdaysEvents(t *testing.T) {
	t.Parallel()
	// The checkout is where temporal-dev is built from.
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	data := passable(t)
	i := install{t: t, dir: t.TempDir(), cwd: checkout}
	b, file := startDev(i, data)
	r := b.ready(file)
	require.Equal(t, filepath.Join(data, "oncehook.yaml"), r.ConfigFile)
	i.config = r.ConfigFile
	for _, address := range []string{r.IngressURL, r.AdminURL, r.TemporalAddress, r.TemporalUIURL, r.ReceiverURL} {
		require.True(t, listens(address), address)
		require.Contains(t, b.output.String(), address)
	}
	require.NotContains(t, b.output.String(), r.DatabaseURL)

	first := regexp.MustCompile(`(?s)-d '(\{.*?\})'`).FindStringSubmatch(b.output.String())
	require.NotNil(t, first, "a first event is printed")
	require.NoError(t, os.WriteFile(filepath.Join(i.dir, "first.json"), []byte(first[1]), 0o600))
	token := strings.TrimSpace(i.ok("sources", "token", "logistics"))
	require.Contains(t, b.output.String(), "Authorization: Bearer "+token)
	sent := i.ok("send", "logistics", "x", "--file", filepath.Join(i.dir, "first.json"), "--times", "2")
	require.Contains(t, sent, "1 accepted, 1 duplicate")
	trace := i.succeeded("event-demo-1042")
	require.Equal(t, "logistics:logistics-sandbox:event-demo-1042", trace.Receipt.EventKey)
	require.EqualValues(t, 2, trace.Receipt.Deliveries)
	require.Equal(t, "logistics-sender", *trace.Decisions[0].Principal)
	require.Len(t, trace.Actions, 1)
	require.True(t, strings.HasPrefix(*trace.TemporalUiUrl, r.TemporalUIURL+"/namespaces/default/workflows/"))
	i.sendsFromEverySource()
	require.NotContains(t, i.ok("doctor"), "blocker")
	i.invoicesReach(r.ReceiverURL)

	killServers(t, data)
	require.Eventually(t, func() bool {
		return i.run("send", "logistics", "shipment.depot_arrival", "--id", "event-amid").code == 0
	},
		60*time.Second, 100*time.Millisecond, "PostgreSQL comes back where it was")
	i.succeeded("event-amid")

	other, _ := startDev(i, data)
	<-other.ended
	require.Equal(t, exitFailure, other.cmd.ProcessState.ExitCode())
	require.Contains(t, other.output.String(), "another oncehook dev")

	code, took := b.stop(os.Interrupt)
	require.Zero(t, code, b.output.String())
	require.Less(t, took, 10*time.Second)
	require.NoFileExists(t, file)
	for _, address := range []string{r.IngressURL, r.AdminURL, r.TemporalAddress, r.TemporalUIURL, r.ReceiverURL} {
		require.False(t, listens(address), "%s is stopped", address)
	}

	b, file = startDev(i, data)
	b.ready(file)
	require.Contains(t, i.ok("events", "list"), "event-demo-1042")
	require.Equal(t, token, strings.TrimSpace(i.ok("sources", "token", "logistics")))
	b.stop(syscall.SIGKILL)

	b, file = startDev(i, data)
	b.ready(file)
	require.Contains(t, i.ok("send", "logistics", "x", "--file", filepath.Join(i.dir, "first.json")), "duplicate", "what was known before the kill")
	i.ok("send", "logistics", "shipment.depot_arrival", "--id", "event-after-kill")
	i.succeeded("event-after-kill")
	code, _ = b.stop(syscall.SIGTERM)
	require.Zero(t, code)
}

func TestDevAcceptsEventsBeforeTemporalIsThere(t *testing.T) {
	t.Parallel()
	data := filepath.Join(t.TempDir(), "data")
	i := install{t: t, dir: t.TempDir()}
	// Earlier versions kept a bearer token for acme.
	require.NoError(t, os.MkdirAll(filepath.Join(data, "secrets"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "secrets", "acme"), []byte("dev-acme-of-yesterday"), 0o600))
	b, file := startDev(i, data, "TEMPORAL_ADDRESS=127.0.0.1:1", "ONCEHOOK_DATABASE_URL="+pgtest.Empty(t))
	i.config = filepath.Join(data, "oncehook.yaml")
	b.until(60*time.Second, func() bool {
		settings, err := config.Load(i.config, func(string) (string, bool) { return "", false })
		return err == nil && !strings.HasSuffix(settings.Ingress.Addr, ":0") && answers(adminURL(settings))
	}, "ingress and admin are up")
	require.Contains(t, i.ok("send", "logistics", "shipment.depot_arrival", "--id", "event-1"), "202")
	require.Contains(t, i.ok("trace", "event-1"), "received")
	require.NoFileExists(t, file, "not all is up")

	info, err := os.Stat(filepath.Join(data, "secrets"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o700), info.Mode().Perm())
	entries, err := os.ReadDir(filepath.Join(data, "secrets"))
	require.NoError(t, err)
	require.Len(t, entries, 9, "yesterday's among them")
	require.Contains(t, i.ok("send", "acme", "order.shipped"), "202", "a secret of another form lies there unused")
	for _, e := range entries {
		info, err := e.Info()
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), e.Name())
	}
	code, took := b.stop(syscall.SIGTERM)
	require.Zero(t, code)
	require.Less(t, took, 10*time.Second)
}

func TestDevNamesTheFlagOfATakenPort(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer taken.Close()
	_, port, err := net.SplitHostPort(taken.Addr().String())
	require.NoError(t, err)
	i := install{t: t, dir: t.TempDir(), cwd: "."}
	for _, flag := range []string{"--ingress-addr", "--admin-addr", "--temporal-port", "--ui-port", "--receiver-port"} {
		ports := map[string]string{"--ingress-addr": "0", "--admin-addr": "0", "--temporal-port": "0", "--ui-port": "0", "--receiver-port": "0"}
		ports[flag] = port
		args := []string{"dev", "--data", filepath.Join(i.dir, "data")}
		for name, value := range ports {
			args = append(args, name, value)
		}
		require.Contains(t, i.fails(exitFailure, args...).stderr, flag)
	}
}
