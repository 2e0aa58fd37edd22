package codec_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/keyring"
)

// withoutPayloadKeys is the rotation's keyset as it was written before histories
// could be encrypted.
func withoutPayloadKeys(t *testing.T, r *rotation) *rotation {
	t.Helper()
	raw, err := r.keyset.Encode()
	require.NoError(t, err)
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(raw, &file))
	delete(file, "payload")
	raw, err = json.Marshal(file)
	require.NoError(t, err)
	keyset, err := keyring.ParseKeyset(raw)
	require.NoError(t, err)
	return &rotation{r.identity, keyset}
}

func encoded(t *testing.T, r *rotation) []byte {
	t.Helper()
	raw, err := r.keyset.Encode()
	require.NoError(t, err)
	return raw
}
