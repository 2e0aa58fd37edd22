package devstack

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// fakeCheckout holds a module in place of temporal-dev that builds in a moment and says what it was built from.
func fakeCheckout(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	write(t, filepath.Join(root, "go.mod"), "module "+modulePath+"\n\ngo 1.26\n")
	write(t, filepath.Join(root, temporalDev, "go.mod"), "module fake\n\ngo 1.26\n")
	write(t, filepath.Join(root, temporalDev, "go.sum"), "")
	write(t, filepath.Join(root, temporalDev, "main.go"), `package main

var sourceHash = "unstamped"

func main() { println2("server 0.0.1\nsources " + sourceHash + "\n") }
`)
	write(t, filepath.Join(root, temporalDev, "print.go"), `package main

import "os"

func println2(s string) { os.Stdout.WriteString(s) }
`)
	return root
}

func write(t *testing.T, path, content string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(content), 0o644))
}

func TestSourceHashChangesWithWhatIsBuiltOnly(t *testing.T) {
	root := fakeCheckout(t)
	hash := func() string {
		h, err := SourceHash(root)
		require.NoError(t, err)
		return h
	}
	seen := map[string]string{hash(): "first"}
	for _, path := range []string{"main.go", "go.mod", "go.sum", "sub/more.go"} {
		full := filepath.Join(root, temporalDev, path)
		old, _ := os.ReadFile(full)
		write(t, full, string(old)+"// changed\n")
		require.NotContains(t, seen, hash(), path)
		seen[hash()] = path
	}
	// The same bytes under another name are another program.
	require.NoError(t, os.Rename(filepath.Join(root, temporalDev, "sub/more.go"), filepath.Join(root, temporalDev, "sub/other.go")))
	require.NotContains(t, seen, hash())

	before := hash()
	write(t, filepath.Join(root, temporalDev, "main_test.go"), "package main\n")
	write(t, filepath.Join(root, temporalDev, "testdata/x.go"), "package x\n")
	write(t, filepath.Join(root, temporalDev, "README.md"), "words\n")
	require.Equal(t, before, hash())
}

func TestTemporalDevIsBuiltWhenMissingOrStaleAndOnlyOnce(t *testing.T) {
	root := fakeCheckout(t)
	var mu sync.Mutex
	var said []string
	ensure := func() string {
		path, err := EnsureTemporalDev(t.Context(), root, func(line string) {
			mu.Lock()
			defer mu.Unlock()
			said = append(said, line)
		})
		require.NoError(t, err)
		return path
	}
	builds := func() int {
		mu.Lock()
		defer mu.Unlock()
		n := 0
		for _, line := range said {
			if strings.HasPrefix(line, "building") && !strings.Contains(line, ": ") {
				n++
			}
		}
		return n
	}

	t.Run("missing", func(t *testing.T) {
		for range 4 {
			t.Run("caller", func(t *testing.T) {
				t.Parallel()
				ensure()
			})
		}
	})
	require.Equal(t, 1, builds(), "parallel callers build once: %q", said)
	path := ensure()
	require.Equal(t, 1, builds(), "a fresh binary stays")
	server, sources, err := TemporalVersion(t.Context(), path)
	require.NoError(t, err)
	require.Equal(t, "0.0.1", server)
	want, err := SourceHash(root)
	require.NoError(t, err)
	require.Equal(t, want, sources)

	write(t, filepath.Join(root, temporalDev, "more.go"), "package main\n")
	ensure()
	require.Equal(t, 2, builds(), "a stale binary is replaced")

	write(t, filepath.Join(root, temporalDev, "more.go"), "package main\n\nfunc broken( {\n")
	_, err = EnsureTemporalDev(t.Context(), root, nil)
	require.ErrorContains(t, err, "more.go:3")
	require.NotContains(t, err.Error(), "\n")
	require.FileExists(t, path, "a failed build leaves the old binary")
}

func TestTemporalDevBuildEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	_, err := EnsureTemporalDev(ctx, fakeCheckout(t), func(string) { cancel() })
	require.ErrorIs(t, err, context.Canceled)
}

func TestFindRootIsTheCheckoutAboveTheWorkingFolder(t *testing.T) {
	root, err := filepath.EvalSymlinks(fakeCheckout(t))
	require.NoError(t, err)
	// temporal-dev is a module of its own, inside the checkout.
	t.Chdir(filepath.Join(root, temporalDev))
	found, err := FindRoot()
	require.NoError(t, err)
	require.Equal(t, root, found)

	t.Chdir(t.TempDir())
	_, err = FindRoot() // the test binary is in no checkout either
	require.ErrorContains(t, err, "TEMPORAL_ADDRESS")
}
