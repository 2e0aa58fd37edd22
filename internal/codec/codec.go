// Package codec encrypts what Temporal keeps of a run: inputs, results, signals,
// memos, summaries and the texts of failures.
//
// Temporal does not offer to a codec: workflow ids, type names, task queues,
// search attributes, and headers, of which oncehook encodes its own.
package codec

import (
	"errors"
	"fmt"
	"strconv"

	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/proto"

	"github.com/oncehook/oncehook/internal/keyring"
)

// The metadata of an encrypted payload, as Temporal's tools know it.
const (
	Encoding      = "binary/encrypted"
	MetadataKeyID = "encryption-key-id"
)

// Codec encrypts payloads under the keyset's primary payload key. It implements
// converter.PayloadCodec and is safe for concurrent use.
type Codec struct {
	keys *keyring.Keyring
	aad  []byte
	off  bool
}

// New makes the codec of one Temporal namespace.
//
// The namespace is authenticated: a payload that was copied to another one does
// not open there. The workflow id is not, although the SDK would tell it: the
// Temporal UI tells a codec server the namespace alone, and lists' memos and
// exported histories are read without a run.
func New(k *keyring.Keyring, namespace string) *Codec {
	return &Codec{keys: k, aad: []byte("temporal_payload/1\x00" + namespace)}
}

// Off returns a codec that decrypts and does not encrypt: histories from before
// it was switched off stay readable.
func (c *Codec) Off() *Codec { return &Codec{keys: c.keys, aad: c.aad, off: true} }

// Encrypts reports whether Encode encrypts.
func (c *Codec) Encrypts() bool { return !c.off && c.keys.SealsPayloads() }

// ErrForeign says that a payload is encrypted and does not open: it comes from
// another namespace or installation, or was altered.
var ErrForeign = errors.New("the payload does not open: other namespace, other installation, or altered")

// Encode encrypts each payload. Where Encrypts is false it changes nothing.
func (c *Codec) Encode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	if !c.Encrypts() {
		return payloads, nil
	}
	out := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		plain, err := proto.Marshal(payload)
		if err != nil {
			return nil, fmt.Errorf("encode a payload: %w", err)
		}
		sealed, id, err := c.keys.SealPayload(plain, c.aad)
		if err != nil {
			return nil, converter.NewWorkflowTaskFailureError(err)
		}
		out[i] = &commonpb.Payload{
			Metadata: map[string][]byte{
				converter.MetadataEncoding: []byte(Encoding),
				MetadataKeyID:              strconv.AppendUint(nil, uint64(id), 10),
			},
			Data: sealed,
		}
	}
	return out, nil
}

// Decode decrypts each payload that is encrypted and passes the others through.
//
// Its error fails the workflow task, which Temporal then offers again, and not
// the run: another process may have the key that this one lacks.
func (c *Codec) Decode(payloads []*commonpb.Payload) ([]*commonpb.Payload, error) {
	out := make([]*commonpb.Payload, len(payloads))
	for i, payload := range payloads {
		if !Encrypted(payload) {
			out[i] = payload
			continue
		}
		plain, err := c.open(payload)
		if err != nil {
			return nil, converter.NewWorkflowTaskFailureError(err)
		}
		out[i] = plain
	}
	return out, nil
}

// Encrypted reports whether a payload is one that Encode made.
func Encrypted(payload *commonpb.Payload) bool {
	return string(payload.GetMetadata()[converter.MetadataEncoding]) == Encoding
}

func (c *Codec) open(payload *commonpb.Payload) (*commonpb.Payload, error) {
	name := string(payload.GetMetadata()[MetadataKeyID])
	id, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return nil, ErrForeign
	}
	sealed, err := c.keys.OpenPayload(payload.GetData(), uint32(id), c.aad)
	switch {
	case errors.Is(err, keyring.ErrPayloadKey):
		return nil, fmt.Errorf("payload key %d: %w", id, err)
	case err != nil:
		return nil, ErrForeign
	}
	var plain commonpb.Payload
	if err := proto.Unmarshal(sealed, &plain); err != nil {
		return nil, ErrForeign
	}
	return &plain, nil
}
