package keyring

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	tinkpb "github.com/tink-crypto/tink-go/v2/proto/tink_go_proto"

	"github.com/oncehook/oncehook"
)

// template returns how a key of the kind is made.
func template(kind Kind) (*tinkpb.KeyTemplate, error) {
	switch kind {
	case KindFingerprint:
		return prf.HMACSHA256PRFKeyTemplate(), nil
	case KindWrap:
		return aead.AES256GCMKeyTemplate(), nil
	case KindPayload:
		// Its 192-bit nonces allow as many payloads as histories can hold.
		return aead.XAES256GCM192BitNonceKeyTemplate(), nil
	}
	return nil, fmt.Errorf("%q is no kind of key", kind)
}

// Generate makes new random keys for an installation, in the form that Load reads.
func Generate() (identity, keysetJSON oncehook.Secret, err error) {
	raw := make([]byte, oncehook.MinIdentity)
	if _, err := io.ReadFull(rand.Reader, raw); err != nil {
		return nil, nil, fmt.Errorf("generate the identity key: %w", err)
	}
	k := &Keyset{handles: map[Kind]*keyset.Handle{}}
	for _, kind := range Kinds() {
		if k.handles[kind], err = newHandle(kind); err != nil {
			return nil, nil, err
		}
	}
	if keysetJSON, err = k.Encode(); err != nil {
		return nil, nil, err
	}
	return oncehook.Secret(hex.EncodeToString(raw)), keysetJSON, nil
}

func newHandle(kind Kind) (*keyset.Handle, error) {
	t, err := template(kind)
	if err != nil {
		return nil, err
	}
	handle, err := keyset.NewHandle(t)
	if err != nil {
		return nil, fmt.Errorf("generate a %s key: %w", kind, err)
	}
	return handle, nil
}
