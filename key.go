package oncehook

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base32"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Length limits of an event key, in bytes. An idempotency key adds an action
// name and an epoch and stays within Temporal's 255 bytes for a workflow ID.
const (
	MaxKey           = 200
	MaxSourceEscaped = 40
	MaxTenantEscaped = 80
	MaxActionName    = 48
)

// Key is an event key, `source:tenant:id` with each part escaped. It is unique
// for ever, is the Temporal workflow ID, and is safe in URLs and log lines.
type Key string

// Identity is the installation's key for ids that are too long or personal. It
// never rotates: a new one would make every such redelivery a new event.
type Identity struct{ secret Secret }

// MinIdentity is the least length of the identity key, in bytes.
const MinIdentity = 32

// NewIdentity makes an Identity of a secret of at least MinIdentity bytes.
func NewIdentity(secret Secret) (Identity, error) {
	if len(secret) < MinIdentity {
		return Identity{}, &Refusal{Code: CodeFieldInvalid, Field: "keys.identity", Detail: "the identity key needs at least 32 bytes"}
	}
	return Identity{secret: secret}, nil
}

// CheckValue identifies the key without revealing it. The database keeps it, so
// that a process with another identity key refuses to start.
func (i Identity) CheckValue() []byte { return i.mac("check/1") }

// Key builds the event key of a triple. Distinct triples give distinct keys.
// It returns a *Refusal when a part is empty, is not valid UTF-8, or is too long.
func (i Identity) Key(source, tenant, id string, personal bool) (Key, error) {
	s, err := escapePart("source", source, MaxSourceEscaped)
	if err != nil {
		return "", err
	}
	t, err := escapePart("tenant", tenant, MaxTenantEscaped)
	if err != nil {
		return "", err
	}
	switch {
	case id == "":
		return "", &Refusal{Code: CodeFieldMissing, Field: "id", Detail: "the event id is empty"}
	case len(id) > MaxEventID:
		return "", &Refusal{Code: CodeIDTooLong, Field: "id", Detail: "the event id is longer than 1000 bytes"}
	case !utf8.ValidString(id):
		return "", &Refusal{Code: CodeFieldInvalid, Field: "id", Detail: "the event id is not valid UTF-8"}
	}
	prefix := s + ":" + t + ":"
	if !personal {
		if e := escape(id); len(prefix)+len(e) <= MaxKey {
			return Key(prefix + e), nil
		}
	}
	sum := i.mac("id/1\x00" + source + "\x00" + tenant + "\x00" + id)
	return Key(prefix + "~k" + lowerBase32(sum)), nil
}

func (i Identity) mac(message string) []byte {
	h := hmac.New(sha256.New, i.secret)
	h.Write([]byte(message))
	return h.Sum(nil)
}

// IdempotencyKey is the key under which a downstream remembers one action of
// the event: the event key, the action name and, from the second epoch on, the epoch.
func (k Key) IdempotencyKey(action string, epoch int) string {
	key := string(k) + ":" + action
	if epoch >= 2 {
		key += ":e" + strconv.Itoa(epoch)
	}
	return key
}

// ShortIdempotencyKey is IdempotencyKey in 55 characters, for downstreams that limit the length.
func (k Key) ShortIdempotencyKey(action string, epoch int) string {
	sum := sha256.Sum256([]byte(k.IdempotencyKey(action, epoch)))
	return "oh_" + lowerBase32(sum[:])
}

// ID returns the escaped id part of the key.
func (k Key) ID() string {
	if i := strings.LastIndexByte(string(k), ':'); i >= 0 {
		return string(k)[i+1:]
	}
	return string(k)
}

func escapePart(field, value string, limit int) (string, error) {
	switch e := escape(value); {
	case value == "" && field == "tenant":
		return "", &Refusal{Code: CodeTenantMissing, Field: field, Detail: "the event names no tenant and the source has no default tenant"}
	case value == "":
		return "", &Refusal{Code: CodeFieldMissing, Field: field, Detail: "the " + field + " is empty"}
	case !utf8.ValidString(value):
		return "", &Refusal{Code: CodeFieldInvalid, Field: field, Detail: "the " + field + " is not valid UTF-8"}
	case len(e) > limit:
		return "", &Refusal{Code: CodeFieldInvalid, Field: field, Detail: "the " + field + " is longer than " + strconv.Itoa(limit) + " bytes after escaping"}
	default:
		return e, nil
	}
}

const upperHex = "0123456789ABCDEF"

func escape(part string) string {
	var b strings.Builder
	b.Grow(len(part))
	for n := range len(part) {
		c := part[n]
		if c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '.' || c == '_' || c == '-' {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('~')
		b.WriteByte(upperHex[c>>4])
		b.WriteByte(upperHex[c&15])
	}
	return b.String()
}

func lowerBase32(b []byte) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(b))
}
