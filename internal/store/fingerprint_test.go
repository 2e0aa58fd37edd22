package store_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/store"
)

// mark makes a fingerprint of any value.
func mark(recipe string, key uint32, value string) keyring.Fingerprint {
	return keyring.Fingerprint{Recipe: recipe, KeyID: key, Value: []byte(value)}
}

func with(list ...keyring.Fingerprint) change {
	return func(c *store.Candidate) { c.Fingerprints = list }
}

func TestACopyIsComparedUnderWhicheverLiveKeyAndRecipeIsStored(t *testing.T) {
	old := mark("fields/1", 1, "old")
	for name, test := range map[string]struct {
		copy      []keyring.Fingerprint
		decision  oncehook.Decision
		unchecked bool
	}{
		"same primary":                   {[]keyring.Fingerprint{old}, oncehook.Duplicate, false},
		"other primary":                  {[]keyring.Fingerprint{mark("fields/1", 1, "new")}, oncehook.Conflict, false},
		"rotated key, same content":      {[]keyring.Fingerprint{mark("fields/1", 2, "x"), mark("fields/1", 1, "old")}, oncehook.Duplicate, false},
		"rotated key, other content":     {[]keyring.Fingerprint{mark("fields/1", 2, "x"), mark("fields/1", 1, "new")}, oncehook.Conflict, false},
		"newer recipe, same content":     {[]keyring.Fingerprint{mark("fields/2", 1, "x"), mark("raw/1", 1, "r"), mark("fields/1", 1, "old")}, oncehook.Duplicate, false},
		"key no longer live":             {[]keyring.Fingerprint{mark("fields/1", 2, "old")}, oncehook.Duplicate, true},
		"recipe no longer live":          {[]keyring.Fingerprint{mark("fields/2", 1, "old")}, oncehook.Duplicate, true},
		"nothing of it is live any more": {[]keyring.Fingerprint{mark("fields/2", 2, "a"), mark("raw/2", 2, "b")}, oncehook.Duplicate, true},
	} {
		t.Run(name, func(t *testing.T) {
			url := database(t)
			s, db := openIngress(t, options(url)), connect(t, url)
			accept(t, s, copyOf("event-1", with(old, mark("raw/1", 1, "r"))))
			// Beside others, so that the fingerprints of one are not taken for another's.
			results := accept(t, s,
				copyOf("event-2", with(mark("fields/1", 2, "y"), mark("fields/1", 1, "z"))),
				copyOf("event-1", with(test.copy...), func(c *store.Candidate) { c.Event.Flags = []string{"unordered", "duplicate_names"} }),
				copyOf("event-3", with(mark("fields/1", 2, "y"), mark("fields/1", 1, "old"))))
			require.Equal(t, []oncehook.Decision{oncehook.Accepted, test.decision, oncehook.Accepted}, decisions(results))
			require.Equal(t, test.unchecked, results[1].Unchecked)
			want := 2
			if test.unchecked {
				want = 3
			}
			require.Equal(t, want, number(t, db, `SELECT cardinality(flags) FROM oncehook.audit WHERE flags @> '{unordered,duplicate_names}'`))
			require.Equal(t, want-2, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE 'unchecked' = ANY(flags)`))
			require.Equal(t, 3, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE flags IS NULL`))
		})
	}
}

func TestContentWithoutCanonicalFormConflictsWithContentThatHasOne(t *testing.T) {
	s := openIngress(t, options(database(t)))
	plain, odd := []byte(`{"a":1}`), []byte(`{"a":"\ud800"}`)
	compared := func(text []byte) change { return with(fingerprints(keys(), text)...) }
	accept(t, s, copyOf("plain-first", compared(plain)), copyOf("odd-first", compared(odd)))
	results := accept(t, s,
		copyOf("plain-first", compared(odd)), copyOf("odd-first", compared(plain)),
		copyOf("plain-first", compared(plain)), copyOf("odd-first", compared(odd)))
	require.Equal(t, []oncehook.Decision{oncehook.Conflict, oncehook.Conflict, oncehook.Duplicate, oncehook.Duplicate}, decisions(results))
	for _, r := range results {
		require.False(t, r.Unchecked)
	}
}
