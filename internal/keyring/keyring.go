// Package keyring holds the installation's keys: the identity key behind event
// keys, the fingerprint keys that recognize an event's content, and the keys
// that wrap each tenant's data keys.
//
// It imports the root package and tink only, and does no I/O.
package keyring

import (
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/prf"
	"github.com/tink-crypto/tink-go/v2/tink"

	"github.com/oncehook/oncehook"
)

// Keyring is the loaded keys. It is safe for concurrent use.
type Keyring struct {
	identity oncehook.Identity
	// prfs are the live fingerprint keys, the primary first, then by key id.
	prfs      []fingerprintKey
	wrap      tink.AEAD
	wrapKeyID uint32
}

// Load makes a Keyring of the identity key and the keyset file's bytes. The
// keyset is JSON: {"version":1,"fingerprint":<tink keyset>,"wrap":<tink keyset>}.
// Errors name the part that is wrong and never repeat key material.
func Load(identity, keysetJSON oncehook.Secret) (*Keyring, error) {
	id, err := oncehook.NewIdentity(identity)
	if err != nil {
		return nil, err
	}
	fingerprint, wrap, err := parseKeyset(keysetJSON)
	if err != nil {
		return nil, err
	}
	prfs, err := fingerprintKeys(fingerprint)
	if err != nil {
		return nil, err
	}
	if _, err := primaryOf("wrap", wrap, typeAESGCM, typeXAESGCM); err != nil {
		return nil, err
	}
	primitive, err := aead.New(wrap)
	if err != nil {
		return nil, errors.New("keys.keyset: the wrap keyset holds no usable AEAD key")
	}
	return &Keyring{identity: id, prfs: prfs, wrap: primitive, wrapKeyID: wrap.KeysetInfo().GetPrimaryKeyId()}, nil
}

// Identity returns the key that builds event keys.
func (k *Keyring) Identity() oncehook.Identity { return k.identity }

func fingerprintKeys(handle *keyset.Handle) ([]fingerprintKey, error) {
	primary, err := primaryOf("fingerprint", handle, typeHMACPRF, typeHKDFPRF)
	if err != nil {
		return nil, err
	}
	set, err := prf.NewPRFSet(handle)
	if err != nil {
		return nil, errors.New("keys.keyset: the fingerprint keyset holds no usable PRF key")
	}
	keys := []fingerprintKey{{id: primary, prf: set.PRFs[primary]}}
	for i := range handle.Len() {
		entry, err := handle.Entry(i)
		if err != nil {
			return nil, fmt.Errorf("keys.keyset: fingerprint key %d cannot be read", i)
		}
		p, live := set.PRFs[entry.KeyID()]
		if live && entry.KeyID() != primary {
			keys = append(keys, fingerprintKey{id: entry.KeyID(), prf: p})
		}
	}
	return keys, nil
}
