package store_test

import (
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

// rejectionAt keeps a rejected delivery of that time.
func rejectionAt(t testing.TB, url string, at time.Time, r store.Rejection) uuid.UUID {
	t.Helper()
	o := options(url)
	o.Now = func() time.Time { return at }
	require.True(t, reject(t, openIngress(t, o), r))
	return r.ID
}

func TestRejectedDeliveriesAreListedByFilterInPages(t *testing.T) {
	t.Parallel()
	url := database(t)
	admin := openAdmin(t, as(t, store.DatabaseAdmin, options(url)))
	now := time.Now().UTC().Truncate(time.Microsecond)
	malformed, acme := rejection("logistics"), rejection("acme")
	malformed.Refusal = oncehook.Refusal{Code: oncehook.CodeMalformedJSON}
	old := rejectionAt(t, url, now.Add(-3*time.Hour), rejection("logistics"))
	middle := rejectionAt(t, url, now.Add(-2*time.Hour), malformed)
	newest := rejectionAt(t, url, now.Add(-time.Hour), acme)
	for name, c := range map[string]struct {
		filter store.RejectedFilter
		want   []uuid.UUID
	}{
		"all":            {store.RejectedFilter{}, []uuid.UUID{newest, middle, old}},
		"source":         {store.RejectedFilter{Source: "logistics"}, []uuid.UUID{middle, old}},
		"code":           {store.RejectedFilter{Code: "field_missing"}, []uuid.UUID{newest, old}},
		"since":          {store.RejectedFilter{Since: now.Add(-2 * time.Hour)}, []uuid.UUID{newest, middle}},
		"source and all": {store.RejectedFilter{Source: "acme", Code: "field_missing", Since: now.Add(-90 * time.Minute)}, []uuid.UUID{newest}},
		"none":           {store.RejectedFilter{Source: "nowhere"}, nil},
	} {
		var got []uuid.UUID
		page := store.RejectedPage{Next: ""}
		for first := true; first || page.Next != ""; first = false {
			var err error
			page, err = admin.RejectedList(t.Context(), everything, c.filter, store.Page{Size: 1, Cursor: page.Next})
			require.NoError(t, err, name)
			for _, r := range page.Rejected {
				got = append(got, r.ID)
			}
		}
		require.Equal(t, c.want, got, name)
	}
	_, err := admin.RejectedList(t.Context(), everything, store.RejectedFilter{}, store.Page{Size: 1, Cursor: "x"})
	require.ErrorIs(t, err, store.ErrCursor)

	r, err := admin.Rejected(t.Context(), everything, newest)
	require.NoError(t, err)
	field := "shipment_id"
	require.Equal(t, store.RejectedView{
		ID: newest, At: now.Add(-time.Hour).Local(), Source: "acme", Principal: "sender", CredentialVersion: "2", Peer: "192.0.2.7",
		Code: oncehook.CodeFieldMissing, Field: &field, ExpiresAt: now.Add(-time.Hour + store.RejectedRetention).Local(),
	}, r)
}

func TestARejectedDeliveryIsSeenWithinTheScopeOnly(t *testing.T) {
	t.Parallel()
	url := database(t)
	in, admin := openIngress(t, options(url)), openAdmin(t, options(url))
	ofNobody, south := rejection("logistics"), rejection("logistics")
	south.Tenant = "south"
	reject(t, in, ofNobody)
	reject(t, in, south)
	for name, c := range map[string]struct {
		scope store.Scope
		want  []uuid.UUID
	}{
		"nothing":        {store.Scope{}, nil},
		"another source": {store.Scope{Sources: []string{"acme"}, Tenants: []string{"*"}}, nil},
		"another tenant": {store.Scope{Sources: []string{"*"}, Tenants: []string{"north"}}, nil},
		"the tenant":     {store.Scope{Sources: []string{"*"}, Tenants: []string{"south"}}, []uuid.UUID{south.ID}},
		"the source":     {store.Scope{Sources: []string{"logistics"}, Tenants: []string{"*"}}, []uuid.UUID{south.ID, ofNobody.ID}},
	} {
		page, err := admin.RejectedList(t.Context(), c.scope, store.RejectedFilter{}, store.Page{Size: 10})
		require.NoError(t, err)
		var seen []uuid.UUID
		for _, r := range page.Rejected {
			seen = append(seen, r.ID)
		}
		require.Equal(t, c.want, seen, name)
		for _, id := range []uuid.UUID{ofNobody.ID, south.ID} {
			_, err := admin.Rejected(t.Context(), c.scope, id)
			if len(c.want) == 2 || len(c.want) == 1 && c.want[0] == id {
				require.NoError(t, err, name)
			} else {
				require.ErrorIs(t, err, store.ErrNotFound, name)
			}
		}
	}
}
