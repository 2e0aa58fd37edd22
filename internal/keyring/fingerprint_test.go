package keyring

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oncehook/oncehook"
)

// value draws a JSON value as text, in one of the many ways to write it.
func value(depth int) *rapid.Generator[string] {
	scalars := []*rapid.Generator[string]{
		rapid.Map(rapid.Int64(), func(n int64) string { return fmt.Sprint(n) }),
		rapid.Map(rapid.Uint64(), func(n uint64) string { return fmt.Sprint(n) }),
		rapid.Map(rapid.Float64Range(-1e9, 1e9), func(f float64) string { return marshal(f) }),
		rapid.Map(rapid.String(), func(s string) string { return marshal(s) }),
		rapid.SampledFrom([]string{"null", "true", "false", `""`, "{}", "[]", "0", `"0"`, `[null]`}),
	}
	if depth == 0 {
		return rapid.OneOf(scalars...)
	}
	list := rapid.Map(rapid.SliceOfN(value(depth-1), 0, 3), func(items []string) string { return "[" + strings.Join(items, ",") + "]" })
	object := rapid.Map(members(depth-1), func(m []member) string { return object(m, "") })
	return rapid.OneOf(append(scalars, list, object)...)
}

type member struct{ name, value string }

func members(depth int) *rapid.Generator[[]member] {
	return rapid.SliceOfNDistinct(rapid.Custom(func(t *rapid.T) member {
		return member{rapid.String().Draw(t, "name"), value(depth).Draw(t, "value")}
	}), 0, 5, func(m member) string { return m.name })
}

func object(list []member, space string) string {
	parts := make([]string, len(list))
	for i, m := range list {
		parts[i] = space + marshal(m.name) + space + ":" + space + m.value + space
	}
	return "{" + strings.Join(parts, ",") + space + "}"
}

func marshal(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// primary is the fingerprint that would be stored.
func primary(t require.TestingT, k *Keyring, text string) Fingerprint {
	list, err := k.Fingerprints([]byte(text))
	require.NoError(t, err)
	require.Len(t, list[0].Value, fingerprintSize)
	return list[0]
}

func TestAFingerprintDoesNotSeeOrderOrWhiteSpace(t *testing.T) {
	k, _, _ := generate(t)
	rapid.Check(t, func(t *rapid.T) {
		list := members(2).Draw(t, "members")
		shuffled := rapid.Permutation(list).Draw(t, "order")
		space := rapid.SampledFrom([]string{"", " ", "\n\t", "\r\n  "}).Draw(t, "space")
		first := primary(t, k, object(list, ""))
		require.Equal(t, oncehook.RecipeFields, first.Recipe)
		require.Equal(t, first, primary(t, k, object(shuffled, space)))
	})
}

func TestAFingerprintSeesEveryValue(t *testing.T) {
	k, _, _ := generate(t)
	rapid.Check(t, func(t *rapid.T) {
		list := members(1).Filter(func(m []member) bool { return len(m) > 0 }).Draw(t, "members")
		changed := slices.Clone(list)
		n := rapid.IntRange(0, len(list)-1).Draw(t, "changed")
		changed[n].value = value(1).Filter(func(v string) bool { return !same(v, list[n].value) }).Draw(t, "value")
		require.NotEqual(t, primary(t, k, object(list, "")), primary(t, k, object(changed, "")))
		require.NotEqual(t, primary(t, k, object(list, "")), primary(t, k, object(slices.Delete(slices.Clone(list), n, n+1), "")))
	})
}

// same reports whether two JSON texts mean the same, numbers taken digit by
// digit or as doubles.
func same(a, b string) bool {
	decode := func(text string) (exact, double any) {
		d := json.NewDecoder(strings.NewReader(text))
		d.UseNumber()
		_ = d.Decode(&exact)
		_ = json.Unmarshal([]byte(text), &double)
		return exact, double
	}
	exactA, doubleA := decode(a)
	exactB, doubleB := decode(b)
	return marshal(exactA) == marshal(exactB) || marshal(doubleA) == marshal(doubleB) && strings.ContainsAny(a+b, ".eE")
}

func TestAFingerprintSeesTheLastDigitOfA64BitInteger(t *testing.T) {
	k, _, _ := generate(t)
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.Uint64Range(1<<53, 1<<64-2).Draw(t, "n")
		a, b := fmt.Sprintf(`{"amount":%d}`, n), fmt.Sprintf(`{"amount":%d}`, n+1)
		require.NotEqual(t, primary(t, k, a), primary(t, k, b))
		require.Equal(t, oncehook.RecipeFields, primary(t, k, a).Recipe)
		require.NotEqual(t, primary(t, k, strings.ReplaceAll(a, ":", ":-")), primary(t, k, a))
	})
}

func TestAbsentNullAndEmptyAreDifferentContents(t *testing.T) {
	k, _, _ := generate(t)
	seen := map[string]string{}
	for _, text := range []string{
		`{}`, `{"a":null}`, `{"a":""}`, `{"a":"null"}`, `{"a":0}`, `{"a":"0"}`, `{"a":false}`, `{"a":[]}`, `{"a":{}}`, `{"a":[null]}`,
		`{"a":1}`, `{"A":1}`, `{"a":"1"}`, `{"a":1.5}`, `null`, `[]`, `""`, ``, ` `, `{"a":{"b":1}}`, `{"a.b":1}`, `{"b":{"a":1}}`,
		`{"a":"e\u0301"}`, `{"a":"\u00e9"}`, `{"a":"\u0000"}`, `{"a":"\\u0000"}`, `{"a":1,"b":2}`, `{"a":2,"b":1}`,
	} {
		value := string(primary(t, k, text).Value)
		require.NotContains(t, seen, value, "%s and %s", text, seen[value])
		seen[value] = text
	}
}

func TestWaysToWriteOneValueAreOneContent(t *testing.T) {
	k, _, _ := generate(t)
	for _, same := range [][]string{
		{`{"a":1}`, ` { "a" : 1 } `, `{"\u0061":1}`},
		{`{"a":100}`, `{"a":1e2}`, `{"a":100.0}`, `{"a":1.0E+2}`},
		{`{"a":"é"}`, `{"a":"\u00e9"}`, `{"a":"\u00E9"}`},
		{`{"a":"😀"}`, `{"a":"\ud83d\ude00"}`},
		{`{"a":"/"}`, `{"a":"\/"}`},
	} {
		for _, text := range same {
			require.Equal(t, primary(t, k, same[0]), primary(t, k, text), text)
		}
	}
}

func TestContentWithoutCanonicalFormIsComparedByItsBytes(t *testing.T) {
	k, _, _ := generate(t)
	plain, err := k.Fingerprints([]byte(`{"a":1}`))
	require.NoError(t, err)
	seen := map[string]string{}
	for _, text := range []string{
		"", "not json", `{"a":1`, `{"a":1}{"a":1}`, `{"a":1,"a":1}`, `{"a":1,"a":2}`, `{"a":"\ud800"}`, `{"a":"\udc00"}`, "{\"a\":\"\xff\"}",
		`{"a":1e400}`, `{"a":1e401}`, `{"a":-1e400}`, `{"a":1` + strings.Repeat("0", 400) + `.5}`, strings.Repeat("[", 20_000), "\x00{\"a\":1}",
	} {
		list, err := k.Fingerprints([]byte(text))
		require.NoError(t, err)
		require.Equal(t, oncehook.RecipeRaw, list[0].Recipe, text)
		require.Len(t, list, 2)
		require.NotEqual(t, plain[0], list[1], "no content with a form equals one without")
		for _, f := range list {
			name := f.Recipe + string(f.Value)
			require.NotContains(t, seen, name, text)
			seen[name] = text
		}
	}
	// An integer of any length has a form.
	require.Equal(t, oncehook.RecipeFields, primary(t, k, `{"a":1`+strings.Repeat("0", 400)+`}`).Recipe)
}

func TestAnyBytesHaveAFingerprintThatTheyKeep(t *testing.T) {
	k, _, _ := generate(t)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.SliceOf(rapid.Byte()), rapid.Map(value(2), func(s string) []byte { return []byte(s) })).Draw(t, "text")
		kept := bytes.Clone(text)
		a, err := k.Fingerprints(text)
		require.NoError(t, err)
		require.Equal(t, kept, text, "the input is not changed")
		b, err := k.Fingerprints(text)
		require.NoError(t, err)
		require.Equal(t, a, b)
	})
}

func TestAnotherKeyGivesOtherFingerprints(t *testing.T) {
	a, _, _ := generate(t)
	b, _, _ := generate(t)
	require.NotEqual(t, primary(t, a, `{"a":1}`).Value, primary(t, b, `{"a":1}`).Value)
}
