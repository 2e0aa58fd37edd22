package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/keyring"
)

func TestAnOlderDataFolderGetsAPayloadKeyAndKeepsItsOthers(t *testing.T) {
	t.Parallel()
	d := &dev{dir: t.TempDir()}
	require.NoError(t, os.Mkdir(d.path("secrets"), 0o700))
	identity, raw, err := keyring.Generate()
	require.NoError(t, err)
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &file))
	delete(file, "payload")
	raw, err = json.Marshal(file)
	require.NoError(t, err)
	path := filepath.Join(d.path("secrets"), "keyset.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	before, err := keyring.Load(identity, raw)
	require.NoError(t, err)
	require.False(t, before.SealsPayloads())

	require.NoError(t, d.addPayloadKey())
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	after, err := keyring.Load(identity, content)
	require.NoError(t, err)
	require.True(t, after.SealsPayloads())
	require.Equal(t, before.Keys(), after.Keys()[:len(before.Keys())])

	require.NoError(t, d.addPayloadKey())
	again, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, content, again)
}
