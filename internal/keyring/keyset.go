package keyring

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/tink-crypto/tink-go/v2/insecurecleartextkeyset"
	"github.com/tink-crypto/tink-go/v2/keyset"

	"github.com/oncehook/oncehook"
)

const keysetVersion = 1

// Key types that the keysets may hold.
const (
	typeHMACPRF = "type.googleapis.com/google.crypto.tink.HmacPrfKey"
	typeHKDFPRF = "type.googleapis.com/google.crypto.tink.HkdfPrfKey"
	typeAESGCM  = "type.googleapis.com/google.crypto.tink.AesGcmKey"
	typeXAESGCM = "type.googleapis.com/google.crypto.tink.XAesGcmKey"
)

// Kind is what a key is for.
type Kind string

// The kinds of keys. Wrap keys encrypt the tenants' data keys, fingerprint keys
// recognize an event's content, payload keys encrypt what Temporal keeps.
const (
	KindWrap        Kind = "wrap"
	KindFingerprint Kind = "fingerprint"
	KindPayload     Kind = "payload"
)

// Kinds lists the kinds, in the order in which they are shown.
func Kinds() []Kind { return []Kind{KindWrap, KindFingerprint, KindPayload} }

// keysetFile is the keyset's form at rest. Its keys are in clear: the file, or
// whatever the configuration's reference leads to, is the secret.
type keysetFile struct {
	Version     int             `json:"version"`
	Fingerprint json.RawMessage `json:"fingerprint"`
	Wrap        json.RawMessage `json:"wrap"`
	Payload     json.RawMessage `json:"payload,omitempty"`
	// PayloadReads is set while the first payload key is added and not promoted:
	// it opens payloads and seals none.
	PayloadReads bool `json:"payload_reads_only,omitempty"`
}

// Keyset is the keys of a keyset file, to be looked at and changed. It is not
// safe for concurrent use.
type Keyset struct {
	handles map[Kind]*keyset.Handle
	// passive says that no payload key is in use for sealing yet.
	passive bool
}

// KeyInfo describes a key without its material.
type KeyInfo struct {
	Kind Kind
	ID   uint32
	// Primary keys are used for what is new; the others open what is there.
	Primary bool
}

// Name is the key's name in the database: "wrap:123".
func (i KeyInfo) Name() string { return string(i.Kind) + ":" + strconv.FormatUint(uint64(i.ID), 10) }

// ParseKeyset reads a keyset file's bytes. Its errors never repeat key material,
// which the parsers' own, quoting their input, would.
func ParseKeyset(raw oncehook.Secret) (*Keyset, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var file keysetFile
	if dec.Decode(&file) != nil || dec.More() {
		return nil, errors.New(`keys.keyset: not the JSON object {"version", "fingerprint", "wrap", "payload"}`)
	}
	if file.Version != keysetVersion {
		return nil, fmt.Errorf("keys.keyset: version %d is not supported; `oncehook keys new` makes keys for a new installation", file.Version)
	}
	k := &Keyset{handles: map[Kind]*keyset.Handle{}, passive: file.PayloadReads}
	for _, part := range []struct {
		kind  Kind
		raw   json.RawMessage
		types []string
	}{
		{KindFingerprint, file.Fingerprint, []string{typeHMACPRF, typeHKDFPRF}},
		{KindWrap, file.Wrap, []string{typeAESGCM, typeXAESGCM}},
		{KindPayload, file.Payload, []string{typeAESGCM, typeXAESGCM}},
	} {
		if part.kind == KindPayload && part.raw == nil {
			continue // written before histories could be encrypted
		}
		handle, err := insecurecleartextkeyset.Read(keyset.NewJSONReader(bytes.NewReader(part.raw)))
		if err != nil {
			return nil, fmt.Errorf("keys.keyset: %s is not a tink keyset", part.kind)
		}
		for _, key := range handle.KeysetInfo().GetKeyInfo() {
			if !slices.Contains(part.types, key.GetTypeUrl()) {
				return nil, fmt.Errorf("keys.keyset: %s holds a key of another type", part.kind)
			}
		}
		k.handles[part.kind] = handle
	}
	return k, nil
}

// Encode returns the keyset's form at rest, which ParseKeyset reads.
func (k *Keyset) Encode() (oncehook.Secret, error) {
	file := keysetFile{Version: keysetVersion, PayloadReads: k.passive}
	for kind, into := range map[Kind]*json.RawMessage{KindFingerprint: &file.Fingerprint, KindWrap: &file.Wrap, KindPayload: &file.Payload} {
		handle, ok := k.handles[kind]
		if !ok {
			continue
		}
		var b bytes.Buffer
		if err := insecurecleartextkeyset.Write(handle, keyset.NewJSONWriter(&b)); err != nil {
			return nil, fmt.Errorf("write the keyset: %w", err)
		}
		*into = b.Bytes()
	}
	out, err := json.MarshalIndent(file, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the keyset: %w", err)
	}
	return append(out, '\n'), nil
}

// Keys lists the keys by kind, in the order in which they were added.
func (k *Keyset) Keys() []KeyInfo {
	var keys []KeyInfo
	for _, kind := range Kinds() {
		handle, ok := k.handles[kind]
		if !ok {
			continue
		}
		info := handle.KeysetInfo()
		for _, key := range info.GetKeyInfo() {
			primary := key.GetKeyId() == info.GetPrimaryKeyId() && (kind != KindPayload || !k.passive)
			keys = append(keys, KeyInfo{Kind: kind, ID: key.GetKeyId(), Primary: primary})
		}
	}
	return keys
}
