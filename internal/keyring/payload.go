package keyring

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tink-crypto/tink-go/v2/tink"
)

// payloadKeys encrypt what Temporal keeps of a run.
type payloadKeys struct {
	aead    tink.AEAD
	primary uint32
	ids     []uint32
	// seals is false while the first key is added and not promoted.
	seals bool
}

// ErrPayloadKey says that a payload was sealed with a key that this keyset does
// not hold: one that was added elsewhere and not here yet, or retired.
var ErrPayloadKey = errors.New("the payload's key is not in this keyset")

// SealsPayloads reports whether there is a payload key in use.
func (k *Keyring) SealsPayloads() bool { return k.payload != nil && k.payload.seals }

// SealPayload encrypts plain under the primary payload key and returns that
// key's id. The same aad is needed to open it.
func (k *Keyring) SealPayload(plain, aad []byte) (sealed []byte, keyID uint32, err error) {
	if !k.SealsPayloads() {
		return nil, 0, errors.New("seal a payload: the keyset has no payload key in use")
	}
	if sealed, err = k.payload.aead.Encrypt(plain, aad); err != nil {
		return nil, 0, fmt.Errorf("seal a payload: %w", err)
	}
	return sealed, k.payload.primary, nil
}

// OpenPayload decrypts what SealPayload returned for the same aad. The error is
// ErrPayloadKey or ErrSealed.
func (k *Keyring) OpenPayload(sealed []byte, keyID uint32, aad []byte) ([]byte, error) {
	if k.payload == nil || !slices.Contains(k.payload.ids, keyID) {
		return nil, ErrPayloadKey
	}
	plain, err := k.payload.aead.Decrypt(sealed, aad)
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}
