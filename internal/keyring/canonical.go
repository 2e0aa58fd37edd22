package keyring

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// canonicalForm returns the RFC 8785 form of a JSON text, with integers kept
// digit by digit, and false when it has none.
func canonicalForm(text []byte) ([]byte, bool) {
	form := jsontext.Value(slices.Clone(text))
	if err := form.Canonicalize(jsontext.CanonicalizeRawInts(false)); err != nil {
		return nil, false
	}
	return form, numbersInRange(text)
}

// shortestOverflow is a length below which a number without exponent is always
// within a double's range.
const shortestOverflow = 300

// numbersInRange reports whether every number of a valid JSON text is an
// integer or a finite double. Canonicalize silently replaces others by the
// largest double.
func numbersInRange(text []byte) bool {
	if !bytes.ContainsAny(text, "eE") && len(text) < shortestOverflow {
		return true
	}
	dec := jsontext.NewDecoder(bytes.NewReader(text))
	for {
		token, err := dec.ReadToken()
		switch {
		case errors.Is(err, io.EOF):
			return true
		case err != nil:
			return false
		}
		if token.Kind() != '0' || !strings.ContainsAny(token.String(), ".eE") {
			continue
		}
		if f, err := strconv.ParseFloat(token.String(), 64); err != nil || math.IsInf(f, 0) {
			return false
		}
	}
}
