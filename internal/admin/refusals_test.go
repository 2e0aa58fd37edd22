package admin_test

import (
	"context"
	"net/http"
	"net/netip"
	"net/url"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/store/storetest"
)

const (
	rejectedFields = "id correlation_id at source tenant principal credential_version peer code field expires_at resubmitted_at resubmitted_as"
	refusalFields  = "source outcome cause address_block count first_at last_at"
	secretContent  = "content-of-a-rejected-delivery"
)

// refuse keeps one rejected delivery and counts one refusal before authentication.
func refuse(t testing.TB, dsn, tenant string) store.Rejection {
	t.Helper()
	in, err := store.OpenIngress(t.Context(), options(storetest.As(store.DatabaseIngress, dsn)))
	require.NoError(t, err)
	defer in.Close()
	r := store.Rejection{
		ID: uuid.Must(uuid.NewV7()), Source: "logistics", Tenant: tenant, Principal: "sender", CredentialVersion: "1", Peer: "192.0.2.1",
		Refusal: oncehook.Refusal{Code: oncehook.CodeFieldMissing, Field: "depot_id"}, Body: []byte(secretContent), Header: http.Header{"X-Note": {secretContent}},
	}
	kept, err := in.Reject(t.Context(), r)
	require.NoError(t, err)
	require.True(t, kept)
	in.Count("logistics", oncehook.Unauthenticated, string(oncehook.CauseWrongSecret), netip.MustParseAddr("192.0.2.7"))
	return r
}

func TestARejectedDeliveryIsShownWithoutItsContent(t *testing.T) {
	t.Parallel()
	r, dsn := serveMigrated(t)
	rejection := refuse(t, dsn, "north")
	shown := r.get(t, "/api/v1/rejected/"+rejection.ID.String())
	rejected := requireFields(t, shown.object(t), rejectedFields)
	require.Equal(t, rejection.ID.String(), rejected["correlation_id"])
	require.Equal(t, "field_missing", rejected["code"])
	require.Equal(t, "depot_id", rejected["field"])
	require.Equal(t, "north", rejected["tenant"])
	require.Nil(t, rejected["resubmitted_at"])

	list := r.get(t, "/api/v1/rejected?source=logistics&code=field_missing&since=2020-01-02T03:04:05Z")
	require.Equal(t, rejected, one(t, requireFields(t, list.object(t), "rejected next_cursor")["rejected"]))
	require.Equal(t, []any{}, r.get(t, "/api/v1/rejected?code=malformed_json").object(t)["rejected"])
	for _, answer := range []reply{shown, list} {
		require.NotContains(t, string(answer.body), secretContent)
		require.NotContains(t, string(answer.body), "headers")
	}

	found := requireFields(t, r.get(t, "/api/v1/lookup?q="+rejection.ID.String()).object(t), "events rejected next_cursor")
	require.Empty(t, found["events"])
	require.Equal(t, rejected, one(t, found["rejected"]))
}

func TestACorrelationIDFindsItsEvent(t *testing.T) {
	t.Parallel()
	r, dsn := serveMigrated(t)
	event := accept(t, dsn, "logistics", "north", "event-1")
	found := r.get(t, "/api/v1/lookup?q="+event.CorrelationID.String()).object(t)
	require.Equal(t, event.ReceiptID.String(), one(t, found["events"]).(map[string]any)["receipt_id"])
	require.Equal(t, []any{}, found["rejected"])
	require.Empty(t, r.get(t, "/api/v1/lookup?q="+uuid.NewString()).object(t)["events"])
}

func TestCountedRefusalsNameTheirCauses(t *testing.T) {
	t.Parallel()
	r, dsn := serveMigrated(t)
	refuse(t, dsn, "")
	refuse(t, dsn, "")
	counts := requireFields(t, r.get(t, "/api/v1/refusals").object(t), "since refusals truncated")
	group := requireFields(t, one(t, counts["refusals"]), refusalFields)
	require.Equal(t, "wrong_secret", group["cause"])
	require.Equal(t, "192.0.2.0/24", group["address_block"])
	require.EqualValues(t, 2, group["count"])
	require.Equal(t, false, counts["truncated"])
	since, err := time.Parse(time.RFC3339, counts["since"].(string))
	require.NoError(t, err)
	require.WithinDuration(t, time.Now().Add(-24*time.Hour), since, time.Minute)
	soon := url.QueryEscape(time.Now().Add(2 * time.Minute).Format(time.RFC3339))
	require.Equal(t, []any{}, r.get(t, "/api/v1/refusals?since="+soon).object(t)["refusals"])
	require.Equal(t, []any{}, r.get(t, "/api/v1/refusals?source=acme").object(t)["refusals"])
}

func TestRefusalsAreForThoseWhoseScopeHasThem(t *testing.T) {
	t.Parallel()
	r, dsn := serveMigrated(t)
	ofNobody, north := refuse(t, dsn, ""), refuse(t, dsn, "north")
	db, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer db.Close(context.Background())
	_, err = db.Exec(t.Context(), `UPDATE oncehook.operators SET tenants = '{north}'`)
	require.NoError(t, err)
	require.Equal(t, north.ID.String(), one(t, r.get(t, "/api/v1/rejected").object(t)["rejected"]).(map[string]any)["id"])
	r.get(t, "/api/v1/rejected/"+ofNobody.ID.String()).problem(t, http.StatusNotFound, oncehook.CodeNotFound)
	require.Empty(t, r.get(t, "/api/v1/lookup?q="+ofNobody.ID.String()).object(t)["rejected"])
	r.get(t, "/api/v1/refusals").problem(t, http.StatusForbidden, oncehook.CodeForbidden)
	for _, target := range []string{"/api/v1/rejected", "/api/v1/rejected/" + north.ID.String(), "/api/v1/refusals"} {
		r.do(t, http.MethodGet, target).problem(t, http.StatusUnauthorized, oncehook.CodeUnauthenticated)
	}
}
