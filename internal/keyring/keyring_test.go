package keyring

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/mac"
	"github.com/tink-crypto/tink-go/v2/prf"

	"github.com/oncehook/oncehook"
)

func generate(t testing.TB) (*Keyring, oncehook.Secret, oncehook.Secret) {
	t.Helper()
	identity, keysetJSON, err := Generate()
	require.NoError(t, err)
	k, err := Load(identity, keysetJSON)
	require.NoError(t, err)
	return k, identity, keysetJSON
}

// keysetOf is the form at rest of a keyset written before histories were encrypted.
func keysetOf(fingerprint, wrap *keyset.Handle) (oncehook.Secret, error) {
	return (&Keyset{handles: map[Kind]*keyset.Handle{KindFingerprint: fingerprint, KindWrap: wrap}}).Encode()
}

func TestGeneratedKeysLoadAndDiffer(t *testing.T) {
	a, identity, keysetJSON := generate(t)
	again, err := Load(identity, keysetJSON)
	require.NoError(t, err)
	b, _, _ := generate(t)
	require.Equal(t, a.Identity().CheckValue(), again.Identity().CheckValue())
	require.NotEqual(t, a.Identity().CheckValue(), b.Identity().CheckValue())
	require.GreaterOrEqual(t, len(identity), oncehook.MinIdentity)
}

func TestLoadNamesWhatIsWrongAndRepeatsNoKey(t *testing.T) {
	_, identity, good := generate(t)
	var file map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(good, &file))
	macs, err := keyset.NewHandle(mac.HMACSHA256Tag256KeyTemplate())
	require.NoError(t, err)
	prfs, err := keyset.NewHandle(prf.HMACSHA256PRFKeyTemplate())
	require.NoError(t, err)
	swapped, err := keysetOf(prfs, prfs)
	require.NoError(t, err)
	foreign, err := keysetOf(macs, prfs)
	require.NoError(t, err)
	change := func(member, value string) oncehook.Secret {
		changed := map[string]json.RawMessage{}
		for k, v := range file {
			changed[k] = v
		}
		changed[member] = json.RawMessage(value)
		out, err := json.Marshal(changed)
		require.NoError(t, err)
		return out
	}
	for name, test := range map[string]struct {
		identity, keyset oncehook.Secret
		names            string
	}{
		"short identity":        {identity[:31], good, "identity key"},
		"empty identity":        {nil, good, "identity key"},
		"empty keyset":          {identity, nil, "keys.keyset"},
		"not JSON":              {identity, append(append(oncehook.Secret{}, good...), good...), "keys.keyset"},
		"truncated":             {identity, good[:len(good)/2], "keys.keyset"},
		"unknown member":        {identity, change("extra", "1"), "keys.keyset"},
		"other version":         {identity, change("version", "2"), "version 2"},
		"no fingerprint keyset": {identity, change("fingerprint", "{}"), "fingerprint"},
		"fingerprint null":      {identity, change("fingerprint", "null"), "fingerprint"},
		"wrap is text":          {identity, change("wrap", `"secret"`), "wrap"},
		"wrap holds a PRF":      {identity, swapped, "wrap"},
		"fingerprint is a MAC":  {identity, foreign, "fingerprint"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(test.identity, test.keyset)
			require.ErrorContains(t, err, test.names)
			for _, line := range strings.Split(string(good), "\n") {
				if strings.Contains(line, `"value"`) {
					require.NotContains(t, err.Error(), strings.TrimSpace(line))
				}
			}
		})
	}
}

func TestAnOldFingerprintKeyIsLiveBesideTheNewPrimary(t *testing.T) {
	handle, err := keyset.NewHandle(prf.HMACSHA256PRFKeyTemplate())
	require.NoError(t, err)
	wrap, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	require.NoError(t, err)
	identity := oncehook.Secret(strings.Repeat("i", oncehook.MinIdentity))
	before, err := keysetOf(handle, wrap)
	require.NoError(t, err)
	manager := keyset.NewManagerFromHandle(handle)
	added, err := manager.Add(prf.HMACSHA256PRFKeyTemplate())
	require.NoError(t, err)
	require.NoError(t, manager.SetPrimary(added))
	handle, err = manager.Handle()
	require.NoError(t, err)
	after, err := keysetOf(handle, wrap)
	require.NoError(t, err)

	old, err := Load(identity, before)
	require.NoError(t, err)
	rotated, err := Load(identity, after)
	require.NoError(t, err)
	stored, err := old.Fingerprints([]byte(`{"a":1}`))
	require.NoError(t, err)
	now, err := rotated.Fingerprints([]byte(`{ "a": 1 }`))
	require.NoError(t, err)
	require.Len(t, now, 4, "two keys, two recipes")
	require.Equal(t, added, now[0].KeyID)
	require.Equal(t, oncehook.RecipeFields, now[0].Recipe)
	require.Contains(t, now, stored[0])
	require.NotEqual(t, stored[0], now[0])
}

func TestADataKeyOpensForItsTenantAndPlaceOnly(t *testing.T) {
	k, _, _ := generate(t)
	other, _, _ := generate(t)
	key, wrapped, err := k.NewDataKey("north")
	require.NoError(t, err)
	require.NotZero(t, wrapped.WrapKeyID)
	sealed, err := key.Seal([]byte("body"), "payloads|north|1|body")
	require.NoError(t, err)
	opened, err := k.OpenDataKey("north", wrapped)
	require.NoError(t, err)
	plain, err := opened.Open(sealed, "payloads|north|1|body")
	require.NoError(t, err)
	require.Equal(t, "body", string(plain))
	_, err = opened.Open(sealed, "payloads|north|2|body")
	require.ErrorIs(t, err, ErrSealed)
	for n := range sealed {
		damaged := append([]byte(nil), sealed...)
		damaged[n] ^= 1
		_, err = opened.Open(damaged, "payloads|north|1|body")
		require.ErrorIs(t, err, ErrSealed)
	}
	for _, test := range []struct {
		keyring *Keyring
		tenant  string
		bytes   []byte
	}{{k, "south", wrapped.Bytes}, {other, "north", wrapped.Bytes}, {k, "north", wrapped.Bytes[1:]}, {k, "north", nil}} {
		_, err = test.keyring.OpenDataKey(test.tenant, Wrapped{Bytes: test.bytes})
		require.ErrorIs(t, err, ErrUnwrap)
	}
}

func TestAnEmptyBodyIsSealedToo(t *testing.T) {
	k, _, _ := generate(t)
	key, _, err := k.NewDataKey("")
	require.NoError(t, err)
	sealed, err := key.Seal(nil, "x")
	require.NoError(t, err)
	plain, err := key.Open(sealed, "x")
	require.NoError(t, err)
	require.Empty(t, plain)
}
