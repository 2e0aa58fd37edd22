package keyring

import (
	"fmt"

	"github.com/tink-crypto/tink-go/v2/prf"

	"github.com/oncehook/oncehook"
)

// Fingerprint is a keyed hash of an event's compared content. Two fingerprints
// can be compared only when recipe and key id are equal.
type Fingerprint struct {
	Recipe string
	KeyID  uint32
	Value  []byte
}

type fingerprintKey struct {
	id  uint32
	prf prf.PRF
}

const fingerprintSize = 32

// noForm stands in the place of a canonical form for bytes that have none. No
// JSON text begins with it, so that such content equals no other under
// RecipeFields and is a conflict, not an unknown.
const noForm = "\x00"

// Fingerprints returns one fingerprint of the compared content per live recipe
// and key: first the one to store, then those that an older stored one can be
// compared with.
//
// The content's form is RFC 8785 with exact integers (RecipeFields). Bytes
// without such a form (not JSON, duplicate names, lone surrogates, numbers
// beyond a double) are stored under RecipeRaw. The hash is taken over recipe,
// a zero byte and the form.
func (k *Keyring) Fingerprints(compared []byte) ([]Fingerprint, error) {
	form, canonical := canonicalForm(compared)
	recipes := []struct{ name, form string }{
		{oncehook.RecipeFields, string(form)},
		{oncehook.RecipeRaw, string(compared)},
	}
	if !canonical {
		recipes[0].form = noForm + string(compared)
		recipes[0], recipes[1] = recipes[1], recipes[0]
	}
	out := make([]Fingerprint, 0, len(k.prfs)*len(recipes))
	for _, recipe := range recipes {
		input := []byte(recipe.name + "\x00" + recipe.form)
		for _, key := range k.prfs {
			value, err := key.prf.ComputePRF(input, fingerprintSize)
			if err != nil {
				return nil, fmt.Errorf("compute the fingerprint with key %d: %w", key.id, err)
			}
			out = append(out, Fingerprint{Recipe: recipe.name, KeyID: key.id, Value: value})
		}
	}
	return out, nil
}
