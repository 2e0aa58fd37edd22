package oncehook

import (
	"crypto/sha256"
	"crypto/subtle"
	"log/slog"
)

const redacted = "[redacted]"

// Secret is a credential or key. However it is printed, logged or marshalled,
// it shows a fixed word; only code that converts it to bytes sees it.
type Secret []byte

// String returns a fixed word.
func (Secret) String() string { return redacted }

// GoString returns a fixed word, for %#v.
func (Secret) GoString() string { return redacted }

// LogValue returns a fixed word, for log/slog.
func (Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText returns a fixed word, for JSON and YAML.
func (Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// Equal reports whether s is other, in time that depends on neither's content nor length.
func (s Secret) Equal(other []byte) bool {
	a, b := sha256.Sum256(s), sha256.Sum256(other)
	return subtle.ConstantTimeCompare(a[:], b[:]) == 1
}
