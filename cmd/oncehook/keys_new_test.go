package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
)

// without takes files of an installation away.
func (i install) without(names ...string) {
	i.t.Helper()
	for _, name := range names {
		require.NoError(i.t, os.Remove(filepath.Join(i.dir, name)))
	}
}

func TestANewInstallationMakesItsKeysAndNeverOverwritesOne(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.without("identity", "keyset", "admin")
	missing := i.fails(exitFailure, "migrate", "up")
	require.Contains(t, missing.stderr, "keys.identity refers to the file")
	require.Contains(t, missing.stderr, "oncehook keys new")
	require.Contains(t, missing.stderr, "oncehook keys admin-token")

	said := i.run("keys", "new")
	require.Zero(t, said.code, said.stderr)
	require.Empty(t, said.stdout)
	_, err := keyring.Load(oncehook.Secret(i.read("identity")), oncehook.Secret(i.read("keyset")))
	require.NoError(t, err)
	require.True(t, oncehook.IsOperatorToken(oncehook.Secret(i.read("admin"))))
	for _, name := range []string{"identity", "keyset", "admin"} {
		info, err := os.Stat(filepath.Join(i.dir, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
		require.NotContains(t, said.stderr, i.read(name))
	}
	i.ok("migrate", "up")

	first := i.read("identity")
	require.Contains(t, i.fails(exitFailure, "keys", "new").stderr, "there already")
	require.Contains(t, i.fails(exitFailure, "keys", "admin-token").stderr, "there already")
	i.without("keyset")
	require.Contains(t, i.fails(exitFailure, "keys", "new").stderr, "keys.identity is there already")
	require.Equal(t, first, i.read("identity"))

	i.without("identity")
	require.Contains(t, i.fails(exitFailure, "keys", "new").stderr, "belongs to an installation already")
	require.NoFileExists(t, filepath.Join(i.dir, "identity"))
}

func TestWhatCannotBeWrittenWholeIsNotWritten(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.without("identity", "keyset")
	i.edit("keyset: {file: keyset}", "keyset: {file: nowhere/keyset}")
	require.Contains(t, i.fails(exitFailure, "keys", "new").stderr, "write keys.keyset")
	require.NoFileExists(t, filepath.Join(i.dir, "identity"))
}

func TestNewKeysForTheEnvironmentArePrintedOnlyWhenAskedFor(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.edit("keyset: {file: keyset}", "keyset: {env: TEST_KEYSET}")
	i.without("identity")
	refused := i.fails(exitUsage, "keys", "new")
	require.Contains(t, refused.stderr, "TEST_KEYSET")
	require.Contains(t, refused.stderr, "--print")
	require.Empty(t, refused.stdout)
	require.NoFileExists(t, filepath.Join(i.dir, "identity"))

	lines := strings.Split(strings.TrimSpace(i.ok("keys", "new", "--print")), "\n")
	require.Len(t, lines, 2)
	identity, ok := strings.CutPrefix(lines[0], "ONCEHOOK_KEYS_IDENTITY=")
	require.True(t, ok)
	keyset, ok := strings.CutPrefix(lines[1], "TEST_KEYSET=")
	require.True(t, ok)
	_, err := keyring.Load(oncehook.Secret(identity), oncehook.Secret(keyset))
	require.NoError(t, err)
}

func TestAnAdminTokenOfAnotherFormIsRefusedBeforeTheDatabaseIsTouched(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	require.NoError(t, os.WriteFile(filepath.Join(i.dir, "admin"), []byte("a-token-of-another-form-canary"), 0o600))
	r := i.fails(exitFailure, "migrate", "up")
	require.Contains(t, r.stderr, "admin.token is no operator's token")
	require.NotContains(t, r.stderr, "canary")
	i.without("admin")
	i.ok("keys", "admin-token")
	require.Equal(t, exitFailure, i.run("migrate", "status").code, "nothing was applied")
	i.ok("migrate", "up")
}

// edit replaces a part of the configuration.
func (i install) edit(old, now string) {
	i.t.Helper()
	text := i.read("oncehook.yaml")
	require.Contains(i.t, text, old)
	require.NoError(i.t, os.WriteFile(i.config, []byte(strings.Replace(text, old, now, 1)), 0o600))
}
