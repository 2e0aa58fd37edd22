package keyring

import (
	"errors"
	"fmt"

	"github.com/tink-crypto/tink-go/v2/keyset"
)

// ErrNoKey says that the keyset has no such key.
var ErrNoKey = errors.New("the keyset has no such key")

// ErrPrimary says that a key is in use for what is new.
var ErrPrimary = errors.New("is the primary key: promote another one first")

// Add makes a new key of the kind, which opens and does not seal yet, and
// returns its id. A process that loads the changed keyset can read what the key
// will have sealed once it is promoted.
func (k *Keyset) Add(kind Kind) (uint32, error) {
	handle, ok := k.handles[kind]
	if !ok {
		// The first payload key. A keyset has a primary, so its use is withheld apart.
		handle, err := newHandle(kind)
		if err != nil {
			return 0, err
		}
		k.handles[kind], k.passive = handle, true
		return handle.KeysetInfo().GetPrimaryKeyId(), nil
	}
	t, err := template(kind)
	if err != nil {
		return 0, err
	}
	manager := keyset.NewManagerFromHandle(handle)
	id, err := manager.Add(t)
	if err != nil {
		return 0, fmt.Errorf("generate a %s key: %w", kind, err)
	}
	return id, k.keep(kind, manager)
}

// Promote makes a key the primary one of its kind: the one for what is new.
func (k *Keyset) Promote(kind Kind, id uint32) error {
	manager, err := k.manager(kind, id)
	if err != nil {
		return err
	}
	if err := manager.SetPrimary(id); err != nil {
		return fmt.Errorf("promote key %d: %w", id, err)
	}
	if kind == KindPayload {
		k.passive = false
	}
	return k.keep(kind, manager)
}

// Retire removes a key that is not primary. What it sealed can no longer be opened.
func (k *Keyset) Retire(kind Kind, id uint32) error {
	manager, err := k.manager(kind, id)
	if err != nil {
		return err
	}
	if id == k.handles[kind].KeysetInfo().GetPrimaryKeyId() {
		if !k.isPassive(kind) || k.handles[kind].Len() > 1 {
			return fmt.Errorf("%s %d: %w", kind, id, ErrPrimary)
		}
		delete(k.handles, kind) // the first payload key, never promoted
		k.passive = false
		return nil
	}
	if err := manager.Delete(id); err != nil {
		return fmt.Errorf("retire key %d: %w", id, err)
	}
	return k.keep(kind, manager)
}

// Primary returns the primary key of the kind.
func (k *Keyset) Primary(kind Kind) (uint32, bool) {
	for _, key := range k.Keys() {
		if key.Kind == kind && key.Primary {
			return key.ID, true
		}
	}
	return 0, false
}

func (k *Keyset) isPassive(kind Kind) bool { return kind == KindPayload && k.passive }

func (k *Keyset) manager(kind Kind, id uint32) (*keyset.Manager, error) {
	for _, key := range k.Keys() {
		if key.Kind == kind && key.ID == id {
			return keyset.NewManagerFromHandle(k.handles[kind]), nil
		}
	}
	return nil, fmt.Errorf("%s %d: %w", kind, id, ErrNoKey)
}

func (k *Keyset) keep(kind Kind, manager *keyset.Manager) error {
	handle, err := manager.Handle()
	if err != nil {
		return fmt.Errorf("change the %s keyset: %w", kind, err)
	}
	k.handles[kind] = handle
	return nil
}
