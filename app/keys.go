package app

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

// keysConns suffices for one statement after the other.
const keysConns = 2

// Keys is a rotation of the installation's keys: it changes a keyset in memory,
// after asking the database whether that would stop a running process or make
// something unreadable. The caller stores the result.
type Keys struct {
	app    *App
	store  *store.Keys
	keyset *keyring.Keyset
}

// OpenKeys opens the configured keyset and the database.
func (a *App) OpenKeys(ctx context.Context) (*Keys, error) {
	keyset, err := keyring.ParseKeyset(a.settings.Keys.Keyset)
	if err != nil {
		return nil, err
	}
	options := a.storeOptions("migrate", keysConns)
	options.ApplicationName = "oncehook keys"
	database, err := store.OpenKeys(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("open the database: %w", err)
	}
	return &Keys{app: a, store: database, keyset: keyset}, nil
}

// Close closes the database.
func (k *Keys) Close() { k.store.Close() }

// Encode returns the keyset with its changes, in the form in which it is stored.
func (k *Keys) Encode() (oncehook.Secret, error) { return k.keyset.Encode() }

// KeyState is a key and what the database knows of it.
type KeyState struct {
	keyring.KeyInfo
	store.KeyUse
	// Needed is how many rows cannot be used without it; always 0 for a payload key.
	Needed int64
}

// List returns every key with what the database knows of it.
func (k *Keys) List(ctx context.Context) ([]KeyState, error) {
	var states []KeyState
	for _, key := range k.keyset.Keys() {
		state := KeyState{KeyInfo: key}
		var err error
		if state.Needed, err = k.store.Needed(ctx, key); err != nil {
			return nil, err
		}
		if state.KeyUse, err = k.store.Used(ctx, key); err != nil {
			return nil, err
		}
		states = append(states, state)
	}
	return states, nil
}

// Add makes a key of the kind that is not used for anything new yet.
func (k *Keys) Add(kind keyring.Kind) (uint32, error) { return k.keyset.Add(kind) }

// Promote makes a key the primary one of its kind; id 0 stands for the one that
// was added last. It refuses while a running process does not hold the key, since
// that process could not open what others seal from then on.
func (k *Keys) Promote(ctx context.Context, kind keyring.Kind, id uint32) (uint32, error) {
	if id == 0 {
		last, ok := k.last(kind)
		if !ok {
			return 0, fmt.Errorf("no %s key was added after the primary one: name a key, or add one", kind)
		}
		id = last.ID
	}
	lacking, err := k.store.Lacking(ctx, keyring.KeyInfo{Kind: kind, ID: id})
	if err != nil {
		return 0, err
	}
	if err := k.keyset.Promote(kind, id); err != nil {
		return 0, err
	}
	if len(lacking) > 0 {
		return 0, fmt.Errorf("key %d is not held by %s: restart with the keyset that has it, and try again; a process that was killed is forgotten after %s",
			id, describeHolders(lacking), 3*store.KeyReportEvery)
	}
	return id, nil
}

// last returns the key that was added last, if it is not the primary one.
func (k *Keys) last(kind keyring.Kind) (keyring.KeyInfo, bool) {
	var last keyring.KeyInfo
	for _, key := range k.keyset.Keys() {
		if key.Kind == kind {
			last = key
		}
	}
	return last, last.ID != 0 && !last.Primary
}

// Reencrypt wraps every tenant's data keys by the primary wrap key.
func (k *Keys) Reencrypt(ctx context.Context, progress func(rewrapped int64)) (store.Reencrypted, error) {
	return k.store.Reencrypt(ctx, progress)
}

// Lagging describes the running processes that still seal by a key of the kind
// that is primary no more, or returns "".
func (k *Keys) Lagging(ctx context.Context, kind keyring.Kind) (string, error) {
	var lagging []store.KeyHolder
	for _, key := range k.keyset.Keys() {
		if key.Kind != kind || key.Primary {
			continue
		}
		holders, err := k.store.Sealing(ctx, key)
		if err != nil {
			return "", err
		}
		lagging = append(lagging, holders...)
	}
	return describeHolders(lagging), nil
}

// StillNeededError refuses to retire a key.
type StillNeededError struct {
	Key keyring.KeyInfo
	// Count is how many rows or runs need it, What they are, and Consequence what
	// retiring it all the same would mean.
	Count             int64
	What, Consequence string
	// Forcible says that an operator may decide to bear the consequence.
	Forcible bool
}

func (e *StillNeededError) Error() string {
	return fmt.Sprintf("%s key %d is needed by %d %s: %s", e.Key.Kind, e.Key.ID, e.Count, e.What, e.Consequence)
}

// Retire removes a key that is not primary. It refuses while a running process
// still seals with it and, with a *StillNeededError, while something needs it;
// force overrides the latter where it is forcible.
func (k *Keys) Retire(ctx context.Context, kind keyring.Kind, id uint32, force bool) error {
	key := keyring.KeyInfo{Kind: kind, ID: id}
	if err := k.keyset.Retire(kind, id); err != nil {
		return err
	}
	sealing, err := k.store.Sealing(ctx, key)
	if err != nil {
		return err
	}
	if len(sealing) > 0 {
		return fmt.Errorf("%s key %d is still the primary one of %s: restart with the keyset as it is now, and try again; a process that was killed is forgotten after %s",
			kind, id, describeHolders(sealing), 3*store.KeyReportEvery)
	}
	err = k.unneeded(ctx, key)
	var needed *StillNeededError
	if force && errors.As(err, &needed) && needed.Forcible {
		return nil
	}
	return err
}

func (k *Keys) unneeded(ctx context.Context, key keyring.KeyInfo) error {
	if key.Kind == keyring.KindPayload {
		return k.unneededByHistories(ctx, key)
	}
	n, err := k.store.Needed(ctx, key)
	if err != nil || n == 0 {
		return err
	}
	refusal := &StillNeededError{Key: key, Count: n}
	if key.Kind == keyring.KindWrap {
		refusal.What, refusal.Consequence = "data keys of tenants", "without it their payloads cannot be read; run `oncehook keys reencrypt` first"
		return refusal
	}
	refusal.Forcible = true
	refusal.What = "stored fingerprints"
	refusal.Consequence = "without it a copy of such an event is still a duplicate, but its content is compared no more, so a conflict goes unnoticed (its decision is flagged unchecked); with --force it is retired all the same"
	return refusal
}

func describeHolders(holders []store.KeyHolder) string {
	const shown = 4
	var names []string
	for _, h := range holders[:min(len(holders), shown)] {
		names = append(names, fmt.Sprintf("process %s (%s, seen %s ago)", h.Process, strings.Join(h.Roles, ", "), h.Silent.Round(time.Second)))
	}
	if more := len(holders) - shown; more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}
