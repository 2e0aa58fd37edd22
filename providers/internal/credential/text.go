package credential

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
)

// IsVisible reports whether a text holds visible ASCII only, without a space.
func IsVisible(text string) bool {
	return !strings.ContainsFunc(text, func(c rune) bool { return c <= ' ' || c > '~' })
}

// IsHexSHA256 reports whether a text is a SHA-256 in lower-case hex: of each there is
// one such text.
func IsHexSHA256(text string) bool {
	return len(text) == hex.EncodedLen(sha256.Size) && strings.Trim(text, "0123456789abcdef") == ""
}
