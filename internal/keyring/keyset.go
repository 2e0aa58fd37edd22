package keyring

import (
	"bytes"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"

	"github.com/oncehook/oncehook"
)

const keysetVersion = 1

// Key types that the two keysets may hold.
const (
	typeHMACPRF = "type.googleapis.com/google.crypto.tink.HmacPrfKey"
	typeHKDFPRF = "type.googleapis.com/google.crypto.tink.HkdfPrfKey"
	typeAESGCM  = "type.googleapis.com/google.crypto.tink.AesGcmKey"
	typeXAESGCM = "type.googleapis.com/google.crypto.tink.XAesGcmKey"
)

// keysetFile is the keyset's form at rest. Its keys are in clear: the file, or
// whatever the configuration's reference leads to, is the secret.
type keysetFile struct {
	Version     int             `json:"version"`
	Fingerprint json.RawMessage `json:"fingerprint"`
	Wrap        json.RawMessage `json:"wrap"`
}

// Generate makes new random keys for an installation, in the form that Load reads.
func Generate() (identity, keysetJSON oncehook.Secret, err error) {
	raw := make([]byte, oncehook.MinIdentity)
	if _, err := io.ReadFull(rand.Reader, raw); err != nil {
		return nil, nil, fmt.Errorf("generate the identity key: %w", err)
	}
	fingerprint, err := keyset.NewHandle(prf.HMACSHA256PRFKeyTemplate())
	if err != nil {
		return nil, nil, fmt.Errorf("generate the fingerprint key: %w", err)
	}
	wrap, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, nil, fmt.Errorf("generate the wrap key: %w", err)
	}
	keysetJSON, err = formatKeyset(fingerprint, wrap)
	if err != nil {
		return nil, nil, err
	}
	return oncehook.Secret(hex.EncodeToString(raw)), keysetJSON, nil
}

func formatKeyset(fingerprint, wrap *keyset.Handle) (oncehook.Secret, error) {
	file := keysetFile{Version: keysetVersion}
	for _, part := range []struct {
		handle *keyset.Handle
		into   *json.RawMessage
	}{{fingerprint, &file.Fingerprint}, {wrap, &file.Wrap}} {
		var b bytes.Buffer
		if err := insecurecleartextkeyset.Write(part.handle, keyset.NewJSONWriter(&b)); err != nil {
			return nil, fmt.Errorf("write the keyset: %w", err)
		}
		*part.into = b.Bytes()
	}
	out, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the keyset: %w", err)
	}
	return append(out, '\n'), nil
}

// parseKeyset reports what is wrong without the parsers' own errors, which may
// quote their input.
func parseKeyset(raw oncehook.Secret) (fingerprint, wrap *keyset.Handle, err error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var file keysetFile
	if dec.Decode(&file) != nil || dec.More() {
		return nil, nil, errors.New(`keys.keyset: not the JSON object {"version", "fingerprint", "wrap"}`)
	}
	if file.Version != keysetVersion {
		return nil, nil, fmt.Errorf("keys.keyset: version %d is not supported", file.Version)
	}
	read := func(part json.RawMessage) (*keyset.Handle, error) {
		return insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(part)))
	}
	if fingerprint, err = read(file.Fingerprint); err != nil {
		return nil, nil, errors.New("keys.keyset: fingerprint is not a tink keyset")
	}
	if wrap, err = read(file.Wrap); err != nil {
		return nil, nil, errors.New("keys.keyset: wrap is not a tink keyset")
	}
	return fingerprint, wrap, nil
}

// primaryOf returns the primary key's id, and an error when an enabled key is
// of a type that this keyset may not hold.
func primaryOf(name string, handle *keyset.Handle, types ...string) (uint32, error) {
	info := handle.KeysetInfo()
	for _, key := range info.GetKeyInfo() {
		if !slices.Contains(types, key.GetTypeUrl()) {
			return 0, fmt.Errorf("keys.keyset: %s holds a key of another type", name)
		}
	}
	return info.GetPrimaryKeyId(), nil
}
