package main

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheKeysetsLockKeepsOutWhoComesLater(t *testing.T) {
	t.Parallel()
	i := newInstall(t)
	i.ok("migrate", "up")
	i.ok("keys", "add", "wrap")
	lock := filepath.Join(i.dir, "keyset.lock")
	early, err := os.OpenFile(lock, os.O_RDWR, 0)
	require.NoError(t, err)
	defer func() { _ = early.Close() }()
	i.ok("keys", "add", "wrap")
	// It had opened the file before that change began, and its turn comes now.
	require.NoError(t, syscall.Flock(int(early.Fd()), syscall.LOCK_EX|syscall.LOCK_NB))
	require.Contains(t, i.fails(exitFailure, "keys", "add", "wrap").stderr, "under way")

	// Whoever owns the folder may have made a link of it.
	elsewhere := filepath.Join(t.TempDir(), "elsewhere")
	require.NoError(t, os.WriteFile(elsewhere, []byte("precious"), 0o600))
	require.NoError(t, os.Remove(lock))
	require.NoError(t, os.Symlink(elsewhere, lock))
	i.fails(exitFailure, "keys", "add", "wrap")
	content, err := os.ReadFile(elsewhere)
	require.NoError(t, err)
	require.Equal(t, "precious", string(content))
}
