package store_test

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/store"
)

func addr(text string) netip.Addr { return netip.MustParseAddr(text) }

func rejection(source string) store.Rejection {
	return store.Rejection{
		ID: uuid.Must(uuid.NewV7()), Source: source, Principal: "sender", CredentialVersion: "2", Peer: "192.0.2.7",
		Refusal: oncehook.Refusal{Code: oncehook.CodeFieldMissing, Field: "shipment_id", Detail: "the field is missing"},
		Body:    []byte("\x00 any bytes \xff"),
		Header:  http.Header{"Authorization": {"Bearer hunter2"}, "Cookie": {"hunter2"}, "Content-Type": {"application/json"}},
	}
}

func reject(t testing.TB, s *store.Ingress, r store.Rejection) (kept bool) {
	t.Helper()
	kept, err := s.Reject(t.Context(), r)
	require.NoError(t, err)
	return kept
}

func TestARejectedDeliveryIsKeptSealedAndReservesNoKey(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	r := rejection("logistics")
	require.True(t, reject(t, s, r))
	var keyID int64
	var wrapped, body, headers []byte
	var expires time.Time
	require.NoError(t, db.QueryRow(t.Context(), `SELECT k.id, k.wrapped, r.body, r.headers, r.expires_at
		FROM oncehook.rejected_deliveries r JOIN oncehook.tenant_keys k ON k.id = r.data_key_id AND k.tenant = ''
		WHERE r.id = $1 AND r.code = 'field_missing' AND r.field = 'shipment_id' AND r.tenant IS NULL`, r.ID).Scan(&keyID, &wrapped, &body, &headers, &expires))
	key, err := keys().OpenDataKey("", wrappedKey(wrapped))
	require.NoError(t, err)
	plain, err := key.Open(body, "rejected_deliveries||"+r.ID.String()+"|body")
	require.NoError(t, err)
	require.Equal(t, r.Body, plain)
	plain, err = key.Open(headers, "rejected_deliveries||"+r.ID.String()+"|headers")
	require.NoError(t, err)
	require.Equal(t, "Content-Type: application/json\r\n", string(plain))
	require.WithinDuration(t, time.Now().Add(store.RejectedRetention), expires, time.Minute)
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE outcome = 'rejected' AND delivery_id = $1 AND cause = 'field_missing' AND receipt_id IS NULL AND flags IS NULL`, r.ID))
	require.Zero(t, number(t, db, `SELECT count(*) FROM oncehook.event_keys`))
}

func TestBeyondTheCapOnlyTheEvidenceOfARejectionRemains(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	_, err := db.Exec(t.Context(), `INSERT INTO oncehook.rejected_deliveries (id, at, source, principal, credential_version, peer, code, data_key_id, body, headers, expires_at)
		SELECT gen_random_uuid(), now(), 'logistics', '', '', '', '', 0, '', '', now() FROM generate_series(1, $1)`, store.RejectedCap-1)
	require.NoError(t, err)
	for n := range 3 {
		require.Equal(t, n == 0, reject(t, s, rejection("logistics")), "the caller knows")
	}
	require.True(t, reject(t, s, rejection("other")))
	require.Equal(t, store.RejectedCap, number(t, db, `SELECT count(*) FROM oncehook.rejected_deliveries WHERE source = 'logistics'`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.rejected_deliveries WHERE source = 'other'`))
	require.Equal(t, 2, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE flags = '{not_kept}'`))
	require.Equal(t, 4, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE outcome = 'rejected'`))
}

func TestRefusalsOfAnyTextAreRecorded(t *testing.T) {
	url := database(t)
	s, db := openIngress(t, options(url)), connect(t, url)
	r := rejection("logistics")
	r.Tenant, r.Refusal.Field = "a\x00b", "\xff\xfe"
	require.True(t, reject(t, s, r))
	d := store.DecisionRecord{
		Decision: oncehook.TenantForbidden, Source: "logistics", Tenant: "\x00\xed\xa0\x80", Principal: "sender",
		CredentialVersion: "1", Peer: "192.0.2.7", Cause: "tenant_forbidden", CorrelationID: uuid.New(),
	}
	require.NoError(t, s.Record(t.Context(), d))
	d.CorrelationID = uuid.Nil
	require.NoError(t, s.Record(t.Context(), d))
	require.Equal(t, 2, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE outcome = 'tenant_forbidden' AND principal = 'sender' AND kind = 'delivery'`))
	require.Equal(t, 1, number(t, db, `SELECT count(*) FROM oncehook.audit WHERE correlation_id IS NOT NULL`))
}

func TestKnownAnswersForManyCallersAtOnce(t *testing.T) {
	url := database(t)
	s := openIngress(t, options(url))
	accept(t, s, copyOf("known-1"), copyOf("known-2"))
	got := make(chan error, 200)
	for n := range cap(got) {
		go func() {
			known, err := s.Known(context.Background(), []oncehook.Key{
				copyOf("known-1").Key, copyOf(fmt.Sprintf("unknown-%d", n)).Key, copyOf("known-2").Key, copyOf("known-1").Key,
			})
			if err == nil && fmt.Sprint(known) != "[true false true true]" {
				err = fmt.Errorf("%v", known)
			}
			got <- err
		}()
	}
	for range cap(got) {
		require.NoError(t, <-got)
	}
	known, err := s.Known(t.Context(), nil)
	require.NoError(t, err)
	require.Empty(t, known)
	_, err = s.Known(t.Context(), make([]oncehook.Key, 4096))
	require.NoError(t, err)
	s.Close()
	_, err = s.Known(t.Context(), []oncehook.Key{copyOf("known-1").Key})
	require.ErrorIs(t, err, store.ErrUnavailable)
}

func TestCountedRefusalsAreWrittenAtTheLatestByClose(t *testing.T) {
	o := options(database(t))
	o.Process = uuid.New()
	now := time.Now().UTC().Truncate(time.Minute).Add(30 * time.Second)
	o.Now = func() time.Time { return now }
	s, db := openIngress(t, o), connect(t, o.URL)
	for range 5 {
		s.Count("logistics", oncehook.Unauthenticated, "wrong_secret", addr("192.0.2.1"))
		s.Count("logistics", oncehook.Unauthenticated, "wrong_secret", addr("::ffff:192.0.2.200"))
		s.Count("logistics", oncehook.Unauthenticated, "wrong_secret", addr("2001:db8:1:2::1"))
		s.Count("logistics", oncehook.RateLimited, "\x00", netip.Addr{})
	}
	s.Close()
	require.Equal(t, 10, number(t, db, `SELECT count FROM oncehook.audit_sums WHERE address_block = '192.0.2.0/24' AND process = $1 AND minute = $2 AND first_at = $3`,
		o.Process, now.Truncate(time.Minute), now))
	require.Equal(t, 5, number(t, db, `SELECT count FROM oncehook.audit_sums WHERE address_block = '2001:db8:1::/48'`))
	require.Equal(t, 20, number(t, db, `SELECT sum(count) FROM oncehook.audit_sums`))
}
