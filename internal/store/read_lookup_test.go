package store_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/store"
)

// hashed makes the candidate what the ingress makes of an id that is stored as a hash.
func hashed(id string, personal bool) change {
	return func(c *store.Candidate) {
		key, err := keys().Identity().Key(c.Source, c.Event.Tenant, id, personal)
		if err != nil {
			panic(err)
		}
		c.Key, c.Event.ID = key, key.ID()
	}
}

func TestLookupFindsAnEventByAnyOfItsNames(t *testing.T) {
	t.Parallel()
	url := database(t)
	in, admin := openIngress(t, options(url)), openAdmin(t, options(url))
	plain, odd := copyOf("event-1"), copyOf("id/with: odd~bytes")
	personal := copyOf("hash", from("people"), hashed("ada@example.com", true))
	long, nul := strings.Repeat("long-", 150), "with\x00nul"
	tooLong := copyOf("hash", hashed(long, false))
	withNul := copyOf("hash", hashed(nul, false))
	for _, c := range []store.Candidate{plain, odd, personal, tooLong, withNul} {
		accept(t, in, c)
	}
	sources := []store.LookupSource{{Name: "logistics"}, {Name: "people", Personal: true}}
	for q, want := range map[string]store.Candidate{
		"event-1":                    plain,
		string(plain.Key):            plain,
		plain.ReceiptID.String():     plain,
		plain.CorrelationID.String(): plain,
		"id/with: odd~bytes":         odd,
		string(odd.Key):              odd,
		"ada@example.com":            personal,
		string(personal.Key):         personal,
		long:                         tooLong,
		tooLong.Event.ID:             tooLong,
		nul:                          withNul,
		withNul.ReceiptID.String():   withNul,
	} {
		page, err := admin.Lookup(t.Context(), everything, q, sources, store.Page{Size: 10})
		require.NoError(t, err)
		require.Len(t, page.Events, 1, "%q", q)
		require.Equal(t, want.ReceiptID, page.Events[0].ReceiptID, "%q", q)
	}
	for _, q := range []string{"event-2", "event", "", "\x00", "\xff\xfe", strings.Repeat("x", 1000), "urn:uuid:" + plain.CorrelationID.String()} {
		page, err := admin.Lookup(t.Context(), everything, q, sources, store.Page{Size: 10})
		require.NoError(t, err)
		require.Empty(t, page.Events, "%q", q)
	}
}

func TestLookupListsAllThatAnIDFitsWithinTheScope(t *testing.T) {
	t.Parallel()
	url := database(t)
	in, admin := openIngress(t, options(url)), openAdmin(t, options(url))
	for _, c := range []store.Candidate{copyOf("same"), copyOf("same", of("south")), copyOf("same", from("acme")), copyOf("other")} {
		accept(t, in, c)
	}
	page, err := admin.Lookup(t.Context(), everything, "same", nil, store.Page{Size: 2})
	require.NoError(t, err)
	require.Len(t, page.Events, 2)
	rest, err := admin.Lookup(t.Context(), everything, "same", nil, store.Page{Size: 2, Cursor: page.Next})
	require.NoError(t, err)
	require.Len(t, rest.Events, 1)
	require.Empty(t, rest.Next)

	narrow := store.Scope{Sources: []string{store.Everything}, Tenants: []string{"south"}}
	page, err = admin.Lookup(t.Context(), narrow, "same", nil, store.Page{Size: 10})
	require.NoError(t, err)
	require.Len(t, page.Events, 1)
	require.Equal(t, "south", page.Events[0].Tenant)
}
