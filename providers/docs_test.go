package providers_test

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/providers"
)

// around is what a source's section needs beside it to be a configuration.
const around = `version: 1
database: {url: {file: secrets/db}}
keys: {identity: {file: secrets/identity}, keyset: {file: secrets/keyset.json}}
ingress: {addr: "127.0.0.1:8080"}
admin: {addr: "127.0.0.1:8081", token: {file: secrets/admin-token}}
`

var (
	snippets   = regexp.MustCompile("(?s)```yaml\n(.*?)```")      //nolint:gochecknoglobals // a pattern
	references = regexp.MustCompile(`file: secrets/([a-z0-9-]+)`) //nolint:gochecknoglobals // a pattern
)

func TestEveryProviderHasAPageWhoseConfigurationLoads(t *testing.T) {
	for _, kind := range providers.Kinds() {
		page, err := os.ReadFile(filepath.Join("..", "docs", "providers", kind+".md"))
		require.NoError(t, err)
		found := snippets.FindAllStringSubmatch(string(page), -1)
		require.Len(t, found, 1, "%s shows its one configuration", kind)
		settings := load(t, found[0][1])
		for _, s := range settings.Sources {
			require.Equal(t, kind, s.Provider)
			_, err := providers.New(s.Provider, oncehook.Source{Name: s.Name, Principals: s.Principals, Fields: s.Fields})
			require.NoError(t, err, kind)
		}
	}
}

// load loads the sources, with a secret of the whsec_ form wherever one is referred to.
func load(t *testing.T, sources string) *config.Config {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "secrets"), 0o700))
	identity, keyset, err := keyring.Generate()
	require.NoError(t, err)
	secrets := map[string]string{"db": "postgres://localhost/x", "identity": string(identity), "keyset.json": string(keyset), "admin-token": "oh_" + strings.Repeat("a", 32)}
	for n, reference := range references.FindAllStringSubmatch(sources, -1) {
		secrets[reference[1]] = "whsec_" + base64.StdEncoding.EncodeToString([]byte(strings.Repeat(string(rune('a'+n)), 24)))
	}
	for name, secret := range secrets {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "secrets", name), []byte(secret), 0o600))
	}
	file := filepath.Join(dir, "oncehook.yaml")
	require.NoError(t, os.WriteFile(file, []byte(around+sources), 0o600))
	settings, err := config.Load(file, func(string) (string, bool) { return "", false })
	require.NoError(t, err)
	return settings
}
