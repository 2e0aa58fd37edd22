package main

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/keyring"
)

type keyRow struct {
	Kind    string `json:"kind"`
	ID      uint32 `json:"id"`
	Primary bool   `json:"primary"`
	Needed  *int64 `json:"needed_by"`
}

func (i install) keys() []keyRow {
	i.t.Helper()
	var list struct {
		Keys []keyRow `json:"keys"`
	}
	require.NoError(i.t, json.Unmarshal([]byte(i.ok("keys", "list", "-o", "json")), &list))
	return list.Keys
}

func (i install) read(name string) string {
	i.t.Helper()
	content, err := os.ReadFile(filepath.Join(i.dir, name))
	require.NoError(i.t, err)
	return string(content)
}

var keyMaterial = regexp.MustCompile(`"value":\s*"([^"]+)"`)

// secretsOf are the texts of the key material in the keyset file and its backups.
func (i install) secretsOf() []string {
	i.t.Helper()
	files, err := filepath.Glob(filepath.Join(i.dir, "keyset*"))
	require.NoError(i.t, err)
	var secrets []string
	for _, file := range files {
		for _, found := range keyMaterial.FindAllStringSubmatch(i.read(filepath.Base(file)), -1) {
			secrets = append(secrets, found[1])
		}
	}
	require.NotEmpty(i.t, secrets)
	return secrets
}

func TestAKeyIsAddedPromotedAndRetired(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.ok("migrate", "up")
	require.NoError(t, os.Chmod(filepath.Join(i.dir, "keyset"), 0o644))
	first := i.read("keyset")
	said := ""
	run := func(args ...string) result {
		r := i.run(args...)
		said += r.stdout + r.stderr
		return r
	}
	before := i.keys()
	require.Len(t, before, 3)
	for _, kind := range []string{"wrap", "fingerprint"} {
		require.Zero(t, run("keys", "add", kind).code)
		require.Zero(t, run("keys", "promote", kind).code)
		again := run("keys", "promote", kind)
		require.Equal(t, exitFailure, again.code)
		require.Contains(t, again.stderr, "name a key", "promoting twice must not bring the old key back")
	}
	require.Zero(t, run("keys", "reencrypt").code)
	after := i.keys()
	require.Len(t, after, 5)
	require.Equal(t, []bool{false, true, false, true, true}, []bool{after[0].Primary, after[1].Primary, after[2].Primary, after[3].Primary, after[4].Primary})

	require.Contains(t, run("keys", "retire", "wrap", id(after[1])).stderr, "primary")
	require.Contains(t, run("keys", "retire", "wrap", "7").stderr, "no such key")
	require.Zero(t, run("keys", "retire", "wrap", id(after[0])).code)
	require.Zero(t, run("keys", "retire", "fingerprint", id(after[2])).code)
	require.Len(t, i.keys(), 3)

	info, err := os.Stat(filepath.Join(i.dir, "keyset"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o640), info.Mode().Perm(), "the group may go on reading, others may not")
	backups, err := filepath.Glob(filepath.Join(i.dir, "keyset.2*"))
	require.NoError(t, err)
	require.Len(t, backups, 6, "each change keeps what was before")
	for n, name := range backups {
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		if n == 0 {
			require.Equal(t, first, i.read(filepath.Base(name)))
		}
	}
	said += i.ok("keys", "list")
	for _, secret := range i.secretsOf() {
		require.NotContains(t, said, secret)
	}
	leftovers, err := filepath.Glob(filepath.Join(i.dir, "keyset*.new"))
	require.NoError(t, err)
	require.Empty(t, leftovers)
}

func id(k keyRow) string { return strconv.FormatUint(uint64(k.ID), 10) }

func TestAKeysetInTheEnvironmentIsPrintedOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.ok("migrate", "up")
	env := i
	text := strings.Replace(i.read("oncehook.yaml"), "keyset: {file: keyset}", "keyset: {env: TEST_KEYSET}", 1)
	env.config = filepath.Join(i.dir, "env.yaml")
	require.NoError(t, os.WriteFile(env.config, []byte(text), 0o600))
	run := func(args ...string) (string, string, error) {
		cmd := env.command(args...)
		cmd.Env = append(cmd.Env, "TEST_KEYSET="+i.read("keyset"))
		var stderr strings.Builder
		cmd.Stderr = &stderr
		stdout, err := cmd.Output()
		return string(stdout), stderr.String(), err
	}
	stdout, stderr, err := run("keys", "add", "wrap")
	var ended *exec.ExitError
	require.ErrorAs(t, err, &ended)
	require.Equal(t, exitUsage, ended.ExitCode())
	require.Contains(t, stderr, "TEST_KEYSET")
	require.Contains(t, stderr, "--print")
	require.Empty(t, stdout)

	stdout, stderr, err = run("keys", "add", "wrap", "--print")
	require.NoError(t, err)
	keyset, err := keyring.ParseKeyset([]byte(stdout))
	require.NoError(t, err)
	require.Len(t, keyset.Keys(), 4)
	for _, found := range keyMaterial.FindAllStringSubmatch(stdout, -1) {
		require.NotContains(t, stderr, found[1])
	}
	require.Len(t, i.keys(), 3, "no file is written")
}

// tenants makes that many tenants with a data key each.
func (i install) tenants(n int) {
	i.t.Helper()
	settings, err := config.Load(i.config, func(string) (string, bool) { return "", false })
	require.NoError(i.t, err)
	k, err := keyring.Load(settings.Keys.Identity, settings.Keys.Keyset)
	require.NoError(i.t, err)
	db, err := pgx.Connect(i.t.Context(), string(settings.Database.URL))
	require.NoError(i.t, err)
	defer func() { _ = db.Close(i.t.Context()) }()
	batch := &pgx.Batch{}
	for n := range n {
		tenant := fmt.Sprintf("tenant-%d", n)
		_, wrapped, err := k.NewDataKey(tenant)
		require.NoError(i.t, err)
		batch.Queue(`SELECT oncehook.offer_tenant_key_v1($1, $2, $3)`, tenant, int64(wrapped.WrapKeyID), wrapped.Bytes)
	}
	require.NoError(i.t, db.SendBatch(i.t.Context(), batch).Close())
}

func TestReencryptionAndChangesOfTheKeysetSurviveSIGKILL(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.ok("migrate", "up")
	const tenants = 3000
	i.tenants(tenants)
	for round := range 12 {
		b := i.start(nil, "keys", "add", "wrap")
		killAfter(b, time.Duration(round)*25*time.Millisecond)
		_, err := keyring.ParseKeyset([]byte(i.read("keyset")))
		require.NoError(t, err, "the file is the one from before or the changed one")
	}
	i.ok("keys", "add", "wrap")
	i.ok("keys", "promote", "wrap")
	old := i.keys()[0]
	require.EqualValues(t, tenants, *old.Needed)
	left := int64(tenants)
	for round := 0; left > 0 && round < 40; round++ {
		b := i.start(nil, "keys", "reencrypt")
		killAfter(b, 150*time.Millisecond+time.Duration(round)*40*time.Millisecond)
		now := *i.keys()[0].Needed
		require.LessOrEqual(t, now, left)
		left = now
	}
	i.ok("keys", "reencrypt")
	require.Zero(t, *i.keys()[0].Needed)
	i.ok("keys", "retire", "wrap", id(old))

	settings, err := config.Load(i.config, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	k, err := keyring.Load(settings.Keys.Identity, settings.Keys.Keyset)
	require.NoError(t, err)
	db, err := pgx.Connect(t.Context(), string(settings.Database.URL))
	require.NoError(t, err)
	defer func() { _ = db.Close(t.Context()) }()
	opened := 0
	var tenant string
	var wrapped []byte
	rows, _ := db.Query(t.Context(), `SELECT tenant, wrapped FROM oncehook.tenant_keys`)
	_, err = pgx.ForEachRow(rows, []any{&tenant, &wrapped}, func() error {
		opened++
		_, err := k.OpenDataKey(tenant, keyring.Wrapped{Bytes: wrapped})
		return err
	})
	require.NoError(t, err)
	require.Equal(t, tenants, opened)
}

func killAfter(b *background, d time.Duration) {
	b.t.Helper()
	select {
	case <-b.ended:
	case <-time.After(d):
		_ = b.cmd.Process.Signal(syscall.SIGKILL)
		<-b.ended
	}
}
