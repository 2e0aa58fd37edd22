// Package standardwebhooks is the contract of senders that follow the Standard
// Webhooks specification 1.0.0: https://github.com/standard-webhooks/standard-webhooks.
// A signature over id, time and body proves the sender, symmetric (v1, HMAC-SHA256)
// or asymmetric (v1a, ed25519), by the kind of the configured key.
package standardwebhooks

import (
	"bytes"
	"crypto/ed25519"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"strings"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/credential"
	"github.com/oncehook/oncehook/providers/internal/refuse"
	"github.com/oncehook/oncehook/providers/internal/signedtime"
)

// Kind is the provider kind in configurations and in the catalog.
const Kind = "standard-webhooks"

// Headers of a delivery.
const (
	headerID        = "Webhook-Id"
	headerTimestamp = "Webhook-Timestamp"
	headerSignature = "Webhook-Signature"
)

// ackBudget is the shorter end of what the specification advises senders to wait.
const ackBudget = 15 * time.Second

// Provider authenticates and reads the requests of one source.
type Provider struct{ credentials []credential.Credential[key] }

// New makes the provider of a source. It refuses secrets that are neither whsec_ nor
// whpk_ keys of the specified lengths.
func New(src oncehook.Source) (*Provider, error) {
	if err := credential.NoFields(src); err != nil {
		return nil, err
	}
	credentials, err := credential.List(src, parseKey)
	if err != nil {
		return nil, err
	}
	return &Provider{credentials}, nil
}

// AuthScheme is the scheme that a 401 names.
func (*Provider) AuthScheme() string { return "Signature" }

// AckBudget is how long a sender waits for the answer.
func (*Provider) AckBudget() time.Duration { return ackBudget }

// Acknowledges reports whether a refusal is answered 2xx: senders retry any other
// answer over days, and then disable the endpoint.
func (*Provider) Acknowledges(code oncehook.Code) bool { return refuse.NoRetryMends(code) }

// Verify finds the credential under which one of the signatures covers the request.
func (p *Provider) Verify(r oncehook.Request) (oncehook.Proof, error) {
	h, err := p.header(r)
	if err != nil {
		return oncehook.Proof{}, err
	}
	signed := signedContent(h.id, h.timestamp, r.Body)
	return credential.Prove(p.credentials, r.Received, func(k key) bool { return k.verifies(signed, h.signatures) })
}

// VerifyHeader refuses what no body can make right: headers that are missing or
// malformed, and a time outside the window.
func (p *Provider) VerifyHeader(r oncehook.Request) error {
	_, err := p.header(r)
	return err
}

// header is what the proof rests on.
type header struct {
	id, timestamp string
	signatures    []signature
}

func (p *Provider) header(r oncehook.Request) (header, error) {
	var h header
	list, err := credential.Header(r.Header.Values(headerSignature))
	if err != nil {
		return h, err
	}
	if h.id, err = credential.Header(r.Header.Values(headerID)); err != nil {
		return h, err
	}
	if h.timestamp, err = credential.Header(r.Header.Values(headerTimestamp)); err != nil {
		return h, err
	}
	if !isID(h.id) {
		return h, &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}
	}
	if err := signedtime.Check(h.timestamp, r.Received); err != nil {
		return h, err
	}
	h.signatures, err = p.signatures(list)
	return h, err
}

// isID reports whether a text can be a message id: visible ASCII without a dot, since
// a dot would let the signed text be split in two ways.
func isID(text string) bool {
	return credential.IsVisible(text) && !strings.Contains(text, ".")
}

// Versions of signatures.
const (
	versionHMAC    = "v1"
	versionEd25519 = "v1a"
)

// maxSignatures bounds the work that one request can ask for. Senders write one per
// live key.
const maxSignatures = 16

type signature struct {
	version string
	bytes   []byte
}

// signatures reads the space-separated list. Entries of other versions than the
// configured keys', and malformed ones, are passed over.
func (p *Provider) signatures(list string) ([]signature, error) {
	var found []signature
	known := false
	entries := strings.Fields(list)
	if len(entries) > maxSignatures {
		return nil, &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}
	}
	for _, entry := range entries {
		version, value, _ := strings.Cut(entry, ",")
		size, ok := p.size(version)
		if !ok {
			continue
		}
		known = true
		// Strict: only one text is the signature.
		decoded, err := base64.StdEncoding.Strict().DecodeString(value)
		if err == nil && len(decoded) == size {
			found = append(found, signature{version, decoded})
		}
	}
	switch {
	case len(entries) == 0:
		return nil, &oncehook.AuthError{Cause: oncehook.CauseCredentialMissing}
	case !known:
		return nil, &oncehook.AuthError{Cause: oncehook.CauseSchemeUnsupported}
	case len(found) == 0:
		return nil, &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}
	}
	return found, nil
}

// size returns how many bytes a signature of the version has, and false when no
// configured key makes such ones: a v1 signature proves nothing to a public key.
func (p *Provider) size(version string) (int, bool) {
	for _, c := range p.credentials {
		switch {
		case version == versionHMAC && c.Key.secret != nil:
			return sha256.Size, true
		case version == versionEd25519 && c.Key.public != nil:
			return ed25519.SignatureSize, true
		}
	}
	return 0, false
}

func signedContent(id, timestamp string, body []byte) []byte {
	return bytes.Join([][]byte{[]byte(id), []byte(timestamp), body}, []byte("."))
}

func (k key) verifies(signed []byte, signatures []signature) bool {
	var sum []byte
	if k.secret != nil {
		sum = k.sum(signed)
	}
	ok := false
	for _, s := range signatures {
		switch {
		case s.version == versionHMAC && k.secret != nil:
			ok = hmac.Equal(sum, s.bytes) || ok
		case s.version == versionEd25519 && k.public != nil:
			ok = ed25519.Verify(k.public, signed, s.bytes) || ok
		}
	}
	return ok
}

func (k key) sum(signed []byte) []byte {
	mac := hmac.New(sha256.New, k.secret)
	mac.Write(signed)
	return mac.Sum(nil)
}
