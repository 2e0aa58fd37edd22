package codec

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"
)

// ErrLink says that a link is malformed, altered, of another namespace or
// installation, or past its end.
var ErrLink = errors.New("no such codec link")

const (
	linkSize   = len(uuid.UUID{}) + 8
	maxLink    = 300
	tinkPrefix = 5 // version byte and key id
)

func (c *Codec) linkAAD() []byte { return append([]byte("codec_link/1\x00"), c.aad...) }

// Link returns a capability in the letters of a URL: it proves that it was made
// here, for an operator and until a time. Nothing of it is stored.
func (c *Codec) Link(operator uuid.UUID, expires time.Time) (string, error) {
	plain := make([]byte, 0, linkSize)
	plain = append(plain, operator[:]...)
	plain = binary.BigEndian.AppendUint64(plain, uint64(expires.Unix())) //nolint:gosec // only its bits are kept
	sealed, _, err := c.keys.SealPayload(plain, c.linkAAD())
	if err != nil {
		return "", fmt.Errorf("make a codec link: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(sealed), nil
}

// OpenLink returns the operator for whom a link was made, or ErrLink.
func (c *Codec) OpenLink(link string, now time.Time) (uuid.UUID, error) {
	if len(link) > maxLink {
		return uuid.Nil, ErrLink
	}
	sealed, err := base64.RawURLEncoding.Strict().DecodeString(link)
	if err != nil || len(sealed) < tinkPrefix {
		return uuid.Nil, ErrLink
	}
	plain, err := c.keys.OpenPayload(sealed, binary.BigEndian.Uint32(sealed[1:tinkPrefix]), c.linkAAD())
	if err != nil || len(plain) != linkSize {
		return uuid.Nil, ErrLink
	}
	expires := time.Unix(int64(binary.BigEndian.Uint64(plain[len(uuid.UUID{}):])), 0) //nolint:gosec // as Link wrote it
	if !now.Before(expires) {
		return uuid.Nil, ErrLink
	}
	return uuid.UUID(plain[:len(uuid.UUID{})]), nil
}

// Keyed reports whether the keyset has a payload key in use, without which there
// are no links.
func (c *Codec) Keyed() bool { return c.keys.SealsPayloads() }
