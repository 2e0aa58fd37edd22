package architecture_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/oncehook/oncehook"

// dependencies lists everything a package is built from, direct or not, without its tests.
func dependencies(t *testing.T, pkg string) []string {
	t.Helper()
	var stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), "go", "list", "-deps", pkg)
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	require.NoError(t, err, stderr.String())
	deps := strings.Fields(string(out))
	require.Contains(t, deps, pkg)
	return deps
}

// isStandard reports whether an import path is of the standard library: the first element of all others has a dot.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

func TestNothingOfTemporalIsInTheIngress(t *testing.T) {
	for _, dep := range dependencies(t, module+"/ingress") {
		require.False(t, strings.HasPrefix(dep, "go.temporal.io/"), "the ingress is built from %s", dep)
	}
}

func TestTheRootPackageIsBuiltFromTheStandardLibraryAlone(t *testing.T) {
	for _, dep := range dependencies(t, module) {
		require.True(t, isStandard(dep) || dep == module, "the root package is built from %s", dep)
	}
}

func TestProvidersAreBuiltWithoutStoreServerOrTemporal(t *testing.T) {
	for _, dep := range dependencies(t, module+"/providers") {
		for _, banned := range []string{module + "/internal/", module + "/ingress", "go.temporal.io/", "github.com/jackc/pgx", "github.com/labstack/echo"} {
			require.False(t, strings.HasPrefix(dep, banned), "providers are built from %s", dep)
		}
	}
}
