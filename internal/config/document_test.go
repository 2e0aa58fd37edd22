package config_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v4"

	"github.com/oncehook/oncehook/internal/config"
)

func TestTheDocumentedConfigurationLoadsAndLeavesNoKeyOut(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "operations", "configuration.md"))
	require.NoError(t, err)
	documented := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindSubmatch(page)
	require.NotNil(t, documented)
	text := documented[1]

	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "secrets"), 0o700))
	for _, found := range regexp.MustCompile(`file: (secrets/[a-z0-9.-]+)`).FindAllSubmatch(text, -1) {
		secret := "a secret of the documentation, " + string(found[1])
		switch filepath.Base(string(found[1])) {
		case "customer-notice":
			secret = "a-token-of-the-documentation"
		case "admin-token":
			secret = "oh_a-token-of-the-documentation-of-the-admin"
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, string(found[1])), []byte(secret), 0o600))
	}
	file := filepath.Join(dir, "oncehook.yaml")
	require.NoError(t, os.WriteFile(file, text, 0o600))
	settings, err := config.Load(file, env())
	require.NoError(t, err)

	require.Subset(t, keysOf(t, text), keysOf(t, settings.Redacted()))
}

// keysOf returns the path of every key, without the names that a user chooses.
func keysOf(t *testing.T, text []byte) []string {
	t.Helper()
	var root map[string]any
	require.NoError(t, yaml.Unmarshal(text, &root))
	found := map[string]bool{}
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch v := value.(type) {
		case map[string]any:
			for key, member := range v {
				if path == ".sources" || path == ".destinations" {
					key = "NAME"
				}
				found[path+"."+key] = true
				walk(path+"."+key, member)
			}
		case []any:
			for _, member := range v {
				walk(path, member)
			}
		}
	}
	walk("", root)
	var keys []string
	for key := range found {
		keys = append(keys, key)
	}
	return keys
}
