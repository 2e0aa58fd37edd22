package standardwebhooks

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"strings"

	"github.com/oncehook/oncehook"
)

// Prefixes of keys.
const (
	prefixSecret  = "whsec_"
	prefixPublic  = "whpk_"
	prefixPrivate = "whsk_"
)

// Lengths of a symmetric secret, in bytes.
const (
	minSecret = 24
	maxSecret = 64
)

// key is one of both.
type key struct {
	secret []byte
	public ed25519.PublicKey
}

func parseKey(secret oncehook.Secret) (key, error) {
	text := string(secret)
	switch {
	case strings.HasPrefix(text, prefixSecret):
		decoded, err := base64.StdEncoding.DecodeString(text[len(prefixSecret):])
		if err != nil {
			return key{}, errors.New("is not base64 after whsec_")
		}
		if len(decoded) < minSecret || len(decoded) > maxSecret {
			return key{}, errors.New("does not hold 24 to 64 bytes after whsec_")
		}
		return key{secret: decoded}, nil
	case strings.HasPrefix(text, prefixPublic):
		decoded, err := base64.StdEncoding.DecodeString(text[len(prefixPublic):])
		if err != nil || len(decoded) != ed25519.PublicKeySize {
			return key{}, errors.New("is not base64 of 32 bytes after whpk_")
		}
		if isWeak(decoded) {
			return key{}, errors.New("is a public key for which anybody can sign")
		}
		return key{public: decoded}, nil
	case strings.HasPrefix(text, prefixPrivate):
		return key{}, errors.New("is a private key (whsk_), which only the sender may have: write its public key (whpk_)")
	case strings.HasPrefix(text, versionHMAC+","), strings.HasPrefix(text, versionEd25519+","):
		return key{}, errors.New("begins with a signature's version: write the secret from whsec_ on")
	default:
		return key{}, errors.New("begins with neither whsec_ nor whpk_")
	}
}

// parsePrivate reads a whsk_ key: seed and public key.
func parsePrivate(text string) (ed25519.PrivateKey, error) {
	decoded, err := base64.StdEncoding.DecodeString(text[len(prefixPrivate):])
	if err != nil || len(decoded) != ed25519.PrivateKeySize {
		return nil, errors.New("is not base64 of 64 bytes after whsk_")
	}
	private := ed25519.NewKeyFromSeed(decoded[:ed25519.SeedSize])
	if !private.Equal(ed25519.PrivateKey(decoded)) {
		return nil, errors.New("holds a public key that is not its own")
	}
	return private, nil
}
