package standardwebhooks

import (
	"crypto/ed25519"
	"encoding/hex"
)

// signBit of a point's encoding tells two points apart that differ in x alone.
const signBit = 0x80

// isWeak reports whether a public key is a point of small order, for which anybody
// can sign: ed25519.Verify takes such keys. The texts are their encodings without the
// sign bit, those beyond the field's prime among them.
func isWeak(public ed25519.PublicKey) bool {
	unsigned := [ed25519.PublicKeySize]byte(public)
	unsigned[len(unsigned)-1] &^= signBit
	switch hex.EncodeToString(unsigned[:]) {
	case "0000000000000000000000000000000000000000000000000000000000000000",
		"0100000000000000000000000000000000000000000000000000000000000000",
		"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f":
		return true
	default:
		return false
	}
}
