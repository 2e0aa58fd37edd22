// Package keyring holds the installation's keys: the identity key behind event
// keys, the fingerprint keys that recognize an event's content, the keys that
// wrap each tenant's data keys, and those that encrypt what Temporal keeps.
//
// It imports the root package and tink only, and does no I/O.
package keyring

import (
	"errors"
	"fmt"
	"slices"

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
	payload   *payloadKeys // nil in a keyset that has none
	keys      []KeyInfo
}

// Load makes a Keyring of the identity key and the keyset file's bytes. The
// keyset is JSON: {"version":1,"fingerprint":<tink keyset>,"wrap":<tink keyset>,
// "payload":<tink keyset>}, the last of which may be missing.
// Errors name the part that is wrong and never repeat key material.
func Load(identity, keysetJSON oncehook.Secret) (*Keyring, error) {
	id, err := oncehook.NewIdentity(identity)
	if err != nil {
		return nil, err
	}
	keys, err := ParseKeyset(keysetJSON)
	if err != nil {
		return nil, err
	}
	k := &Keyring{identity: id, keys: keys.Keys()}
	if k.prfs, err = fingerprintKeys(keys.handles[KindFingerprint]); err != nil {
		return nil, err
	}
	wrap := keys.handles[KindWrap]
	if k.wrap, err = aead.New(wrap); err != nil {
		return nil, errors.New("keys.keyset: the wrap keyset holds no usable AEAD key")
	}
	k.wrapKeyID = wrap.KeysetInfo().GetPrimaryKeyId()
	if payload, ok := keys.handles[KindPayload]; ok {
		primitive, err := aead.New(payload)
		if err != nil {
			return nil, errors.New("keys.keyset: the payload keyset holds no usable AEAD key")
		}
		k.payload = &payloadKeys{aead: primitive, primary: payload.KeysetInfo().GetPrimaryKeyId(), seals: !keys.passive}
		for _, key := range k.keys {
			if key.Kind == KindPayload {
				k.payload.ids = append(k.payload.ids, key.ID)
			}
		}
	}
	return k, nil
}

// Identity returns the key that builds event keys.
func (k *Keyring) Identity() oncehook.Identity { return k.identity }

// WrapKeyID returns the primary wrap key's id.
func (k *Keyring) WrapKeyID() uint32 { return k.wrapKeyID }

// Keys lists the loaded keys by kind.
func (k *Keyring) Keys() []KeyInfo { return slices.Clone(k.keys) }

func fingerprintKeys(handle *keyset.Handle) ([]fingerprintKey, error) {
	primary := handle.KeysetInfo().GetPrimaryKeyId()
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
