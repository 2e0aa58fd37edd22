package pgtest

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSweepDeletesOnlyWhatADeadTestBinaryLeft(t *testing.T) {
	base := t.TempDir()
	folder := func(name string, age time.Duration) string {
		dir := filepath.Join(base, name)
		require.NoError(t, os.MkdirAll(filepath.Join(dir, "postgres"), 0o755))
		then := time.Now().Add(-age)
		require.NoError(t, os.Chtimes(dir, then, then))
		return dir
	}
	dead := folder(dirPrefix+"dead", time.Hour)
	young := folder(dirPrefix+"young", 0)
	foreign := folder("other", time.Hour)
	live := folder(dirPrefix+"live", 0)
	lock, err := lockDir(live)
	require.NoError(t, err)
	defer lock.release()
	then := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(live, then, then))

	sweep(base)

	require.NoDirExists(t, dead)
	require.DirExists(t, young)
	require.DirExists(t, foreign)
	require.DirExists(t, live)
}
