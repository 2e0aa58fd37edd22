package canary_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// canary is a text that may appear in some places only.
type canary struct {
	what, text string
	// allowed are the beginnings of the names of places where it may appear.
	allowed []string
}

// found is a canary in a place where it must not be.
type found struct{ what, place string }

// places holds what was written, shown, sent and stored, by where.
type places map[string][]byte

// search looks for each canary in each place, in the forms that encoders give it.
func (p places) search(canaries []canary) []found {
	var hits []found
	for _, c := range canaries {
		forms := formsOf(c.text)
		for place, content := range p {
			if slices.ContainsFunc(c.allowed, func(prefix string) bool { return strings.HasPrefix(place, prefix) }) {
				continue
			}
			if slices.ContainsFunc(forms, func(form string) bool { return bytes.Contains(content, []byte(form)) }) {
				hits = append(hits, found{c.what, place})
			}
		}
	}
	slices.SortFunc(hits, func(a, b found) int { return strings.Compare(a.what+a.place, b.what+b.place) })
	return hits
}

// formsOf is the text as it is, in hexadecimal, in a URL, in JSON and, at each
// alignment, in base64.
func formsOf(text string) []string {
	quoted, _ := json.Marshal(text)
	forms := []string{
		text, hex.EncodeToString([]byte(text)), strings.ToUpper(hex.EncodeToString([]byte(text))), url.QueryEscape(text),
		strings.Trim(string(quoted), `"`),
	}
	for shift := range 3 {
		for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
			encoded := encoding.EncodeToString([]byte(strings.Repeat("x", shift) + text))
			// The ends depend on what stands beside them.
			forms = append(forms, encoded[4:len(encoded)-4])
		}
	}
	return forms
}

func TestTheSearchFindsACanaryInEveryForm(t *testing.T) {
	const text = "canary/with \"signs\" & more: 3f9c2b"
	planted := places{"nothing": []byte("nothing"), "allowed/here": []byte(text)}
	for name, content := range map[string]string{
		"plain": text, "hexadecimal": hex.EncodeToString([]byte(text)), "url": url.QueryEscape(text),
		"base64": base64.StdEncoding.EncodeToString([]byte(`{"a":"` + text + `"}`)),
	} {
		planted[name] = []byte("before " + content + " after")
	}
	quoted, err := json.Marshal(map[string]string{"a": text})
	require.NoError(t, err)
	planted["json"] = quoted
	hits := planted.search([]canary{{what: "c", text: text, allowed: []string{"allowed/"}}})
	require.Equal(t, []found{{"c", "base64"}, {"c", "hexadecimal"}, {"c", "json"}, {"c", "plain"}, {"c", "url"}}, hits)
}
