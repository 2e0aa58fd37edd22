package keyring

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// DataKey encrypts what belongs to one tenant, with AES-256-GCM. It is safe for
// concurrent use.
type DataKey struct{ primitive tink.AEAD }

// Wrapped is a data key as it is stored: encrypted under the wrap key.
type Wrapped struct {
	WrapKeyID uint32
	Bytes     []byte
}

// ErrUnwrap says that a stored data key does not open: its wrap key is gone, it
// belongs to another tenant, or it was altered.
var ErrUnwrap = errors.New("the tenant's data key does not open with this keyset")

// ErrSealed says that a ciphertext does not open: other key, other place, or altered.
var ErrSealed = errors.New("the stored ciphertext does not open")

func wrapAAD(tenant string) []byte { return []byte("tenant_key/1\x00" + tenant) }

// NewDataKey makes a random data key for the tenant, and its stored form.
func (k *Keyring) NewDataKey(tenant string) (*DataKey, Wrapped, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, Wrapped{}, fmt.Errorf("generate a data key: %w", err)
	}
	var b bytes.Buffer
	if err := handle.WriteWithAssociatedData(keyset.NewBinaryWriter(&b), k.wrap, wrapAAD(tenant)); err != nil {
		return nil, Wrapped{}, fmt.Errorf("wrap a data key: %w", err)
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, Wrapped{}, fmt.Errorf("generate a data key: %w", err)
	}
	return &DataKey{primitive}, Wrapped{WrapKeyID: k.wrapKeyID, Bytes: b.Bytes()}, nil
}

// OpenDataKey opens a stored data key of the tenant. It returns ErrUnwrap when
// the keyset, the tenant or the bytes do not fit.
func (k *Keyring) OpenDataKey(tenant string, w Wrapped) (*DataKey, error) {
	reader := keyset.NewBinaryReader(bytes.NewReader(w.Bytes))
	handle, err := keyset.ReadWithAssociatedData(reader, k.wrap, wrapAAD(tenant))
	if err != nil {
		return nil, ErrUnwrap
	}
	primitive, err := aead.New(handle)
	if err != nil {
		return nil, ErrUnwrap
	}
	return &DataKey{primitive}, nil
}

// Rewrap wraps a stored data key of the tenant by the primary wrap key. The data
// key itself stays the same. It returns ErrUnwrap as OpenDataKey does.
func (k *Keyring) Rewrap(tenant string, w Wrapped) (Wrapped, error) {
	handle, err := keyset.ReadWithAssociatedData(keyset.NewBinaryReader(bytes.NewReader(w.Bytes)), k.wrap, wrapAAD(tenant))
	if err != nil {
		return Wrapped{}, ErrUnwrap
	}
	var b bytes.Buffer
	if err := handle.WriteWithAssociatedData(keyset.NewBinaryWriter(&b), k.wrap, wrapAAD(tenant)); err != nil {
		return Wrapped{}, fmt.Errorf("wrap a data key: %w", err)
	}
	return Wrapped{WrapKeyID: k.wrapKeyID, Bytes: b.Bytes()}, nil
}

// Seal encrypts plain. The same aad, which names where the ciphertext is
// stored, is needed to open it, so that rows cannot be swapped.
func (d *DataKey) Seal(plain []byte, aad string) ([]byte, error) {
	sealed, err := d.primitive.Encrypt(plain, []byte(aad))
	if err != nil {
		return nil, fmt.Errorf("seal: %w", err)
	}
	return sealed, nil
}

// Open decrypts what Seal returned for the same aad, or returns ErrSealed.
func (d *DataKey) Open(sealed []byte, aad string) ([]byte, error) {
	plain, err := d.primitive.Decrypt(sealed, []byte(aad))
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}
