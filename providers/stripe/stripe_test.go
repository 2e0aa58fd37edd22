package stripe_test

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/providertest"
)

const snapshot = `{
  "id": "evt_ID",
  "object": "event",
  "account": "acct_1",
  "api_version": "2026-07-29.dahlia",
  "created": 1796030998,
  "data": {
    "object": {
      "id": "in_42",
      "object": "invoice",
      "amount_paid": 12900
    },
    "previous_attributes": {"status": "open"}
  },
  "livemode": true,
  "pending_webhooks": 2,
  "request": {"id": "req_1", "idempotency_key": "key_1"},
  "type": "invoice.paid"
}`

const thin = `{"id":"evt_ID","object":"v2.core.event","type":"v2.core.account.updated","created":"2026-11-30T09:29:58.123Z","livemode":true,
	"context":"acct_1","related_object":{"id":"acct_9","type":"v2.core.account","url":"/v2/core/accounts/acct_9"},"reason":{"type":"request","request":{"id":"req_1"}}}`

func subject(body, eventType string) providertest.Subject {
	return providertest.Subject{
		Make: build,
		Secret: func(n int) oncehook.Secret {
			return oncehook.Secret("whsec_" + strings.Repeat(string(rune('a'+n)), 32))
		},
		Body: func(id string) []byte { return []byte(strings.Replace(body, "evt_ID", "evt_"+id, 1)) },
		Again: func(body []byte) []byte {
			return []byte(strings.NewReplacer(`"pending_webhooks": 2`, `"pending_webhooks": 0`, "req_1", "req_2", "2026-07-29.dahlia", "2026-10-28.x").Replace(string(body)))
		},
		Changed: func(body []byte) []byte {
			return []byte(strings.NewReplacer("12900", "12901", "acct_9", "acct_8").Replace(string(body)))
		},
		Tenant: "acct_1", Type: eventType,
		CredentialHeaders: []string{"Stripe-Signature"},
		SignedHeaders:     []string{"Stripe-Signature"},
		SignsBody:         true,
		Window:            5 * time.Minute,
		Acknowledges:      true,
		Malformed: map[string]string{
			"empty": "", "no prefix": "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "an API key": "sk_live_malformed0123456789", "too short": "whsec_short",
			"a line end": "whsec_malformed0123456789\n", "a space": "whsec_malformed 0123456789", "high bytes": "whsec_malformed0123456789\xff",
			"another prefix": "v1,whsec_malformed0123456789",
		},
	}
}

func TestSnapshotConformance(t *testing.T) { providertest.Run(t, subject(snapshot, "invoice.paid")) }

func TestThinConformance(t *testing.T) {
	s := subject(thin, "v2.core.account.updated")
	providertest.Run(t, s)
}

func FuzzEvents(f *testing.F) { providertest.FuzzEvents(f, subject(snapshot, "invoice.paid")) }

func FuzzVerify(f *testing.F) { providertest.FuzzVerify(f, subject(snapshot, "invoice.paid")) }

func read(t *testing.T, body string) (oncehook.Event, error) {
	t.Helper()
	items, err := subject(snapshot, "").Provider(t).Events(providertest.Request(nil, []byte(body)), oncehook.Proof{})
	if err != nil {
		return oncehook.Event{}, err
	}
	require.Len(t, items, 1)
	return items[0].Event, nil
}

func TestASnapshotIsReadByItsResource(t *testing.T) {
	e, err := read(t, snapshot)
	require.NoError(t, err)
	require.Equal(t, oncehook.Event{
		ID: "evt_ID", Tenant: "acct_1", Type: "invoice.paid", Subject: "in_42",
		OccurredAt: time.Date(2026, 11, 30, 9, 29, 58, 0, time.UTC), Compared: e.Compared, Body: []byte(snapshot),
	}, e)
	for _, volatile := range []string{"pending_webhooks", "req_1", "dahlia"} {
		require.NotContains(t, string(e.Compared), volatile)
	}
}

func TestAThinEventIsReadByWhatItNames(t *testing.T) {
	e, err := read(t, thin)
	require.NoError(t, err)
	require.Equal(t, "acct_1", e.Tenant)
	require.Equal(t, "acct_9", e.Subject)
	require.Equal(t, time.Date(2026, 11, 30, 9, 29, 58, 123e6, time.UTC), e.OccurredAt)
}

func TestTheEventsOfOnesOwnAccountNameNoTenant(t *testing.T) {
	for _, own := range []string{
		strings.Replace(snapshot, `"account": "acct_1",`, "", 1), strings.Replace(snapshot, `"acct_1"`, "null", 1), strings.Replace(thin, `"acct_1"`, "null", 1),
		// A snapshot's context tells how to fetch, not whose it is.
		strings.Replace(snapshot, `"account"`, `"context"`, 1),
	} {
		e, err := read(t, own)
		require.NoError(t, err)
		require.Empty(t, e.Tenant)
	}
}

func TestOldBodiesAreReadWhateverTheirRequestWas(t *testing.T) {
	for _, old := range []string{
		strings.Replace(snapshot, `{"id": "req_1", "idempotency_key": "key_1"}`, `"req_1"`, 1), strings.Replace(snapshot, `"2026-07-29.dahlia"`, `"2015-04-07"`, 1),
		strings.Replace(snapshot, `"api_version": "2026-07-29.dahlia",`, ``, 1), strings.Replace(snapshot, `"id": "in_42",`, ``, 1), strings.Replace(snapshot, `"in_42"`, `42`, 1),
	} {
		_, err := read(t, old)
		require.NoError(t, err, old)
	}
}

func TestAnEventWithoutATimeIsFlagged(t *testing.T) {
	e, err := read(t, strings.Replace(snapshot, `"created": 1796030998,`, "", 1))
	require.NoError(t, err)
	require.Equal(t, []string{oncehook.FlagUnordered}, e.Flags)
}

func TestRefusalsNameTheField(t *testing.T) {
	for name, c := range map[string]struct {
		body  string
		code  oncehook.Code
		field string
	}{
		"no id":            {strings.Replace(snapshot, `"id": "evt_ID",`, "", 1), oncehook.CodeFieldMissing, "id"},
		"number id":        {strings.Replace(snapshot, `"evt_ID"`, "7", 1), oncehook.CodeFieldInvalid, "id"},
		"long id":          {strings.Replace(snapshot, `evt_ID`, strings.Repeat("x", 1001), 1), oncehook.CodeIDTooLong, "id"},
		"two ids":          {strings.Replace(snapshot, `"id"`, `"id":"evt_0","id"`, 1), oncehook.CodeFieldAmbiguous, "id"},
		"no type":          {strings.Replace(snapshot, `"invoice.paid"`, `""`, 1), oncehook.CodeFieldMissing, "type"},
		"no object":        {strings.Replace(snapshot, `"object": "event",`, "", 1), oncehook.CodeFieldMissing, "object"},
		"another object":   {strings.Replace(snapshot, `"event"`, `"charge"`, 1), oncehook.CodeFieldInvalid, "object"},
		"account object":   {strings.Replace(snapshot, `"acct_1"`, `{}`, 1), oncehook.CodeFieldInvalid, "account"},
		"two accounts":     {strings.Replace(snapshot, `"account"`, `"Account":"acct_2","account"`, 1), oncehook.CodeFieldAmbiguous, "account"},
		"time of text":     {strings.Replace(snapshot, `1796030998`, `"now"`, 1), oncehook.CodeFieldInvalid, "created"},
		"negative time":    {strings.Replace(snapshot, `1796030998`, `-1`, 1), oncehook.CodeFieldInvalid, "created"},
		"time too large":   {strings.Replace(snapshot, `1796030998`, `253402300800`, 1), oncehook.CodeFieldInvalid, "created"},
		"thin time":        {strings.Replace(thin, `"2026-11-30T09:29:58.123Z"`, `1796030998`, 1), oncehook.CodeFieldInvalid, "created"},
		"data of text":     {strings.Replace(snapshot, `"data": {`, `"data": 1, "x": {`, 1), oncehook.CodeFieldInvalid, "data"},
		"two resources":    {strings.Replace(snapshot, `"previous_attributes"`, `"object"`, 1), oncehook.CodeFieldAmbiguous, "object"},
		"two of compared":  {strings.Replace(snapshot, `"livemode"`, `"livemode":false,"livemode"`, 1), oncehook.CodeFieldAmbiguous, "livemode"},
		"an array of such": {"[" + snapshot + "]", oncehook.CodeMalformedJSON, ""},
	} {
		_, err := read(t, c.body)
		var refusal *oncehook.Refusal
		require.ErrorAs(t, err, &refusal, name)
		require.Equal(t, c.code, refusal.Code, name)
		require.Equal(t, c.field, refusal.Field, name)
	}
}

func TestAHeaderOfManySignaturesIsNotTriedForEver(t *testing.T) {
	s := subject(snapshot, "invoice.paid")
	r := s.Genuine(t, "many-1", 1)
	value := r.Header.Get("Stripe-Signature")
	r.Header.Set("Stripe-Signature", value+strings.Repeat(",v1="+strings.Repeat("0", 64), 30))
	_, err := s.Provider(t).Verify(r)
	require.NoError(t, err)
	r.Header.Set("Stripe-Signature", value+strings.Repeat(",v1="+strings.Repeat("0", 64), 31))
	_, err = s.Provider(t).Verify(r)
	require.Equal(t, &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}, err)
}

func TestTheTimeIsGivenOnce(t *testing.T) {
	s := subject(snapshot, "invoice.paid")
	r := s.Genuine(t, "time-1", 1)
	_, rest, _ := strings.Cut(r.Header.Get("Stripe-Signature"), ",")
	for _, value := range []string{"t=1," + r.Header.Get("Stripe-Signature"), r.Header.Get("Stripe-Signature") + ",t=1", rest} {
		r.Header.Set("Stripe-Signature", value)
		_, err := s.Provider(t).Verify(r)
		require.Equal(t, &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}, err)
	}
}

func TestComposedEventsTakeWhatIsSet(t *testing.T) {
	signer := subject(snapshot, "").Provider(t).(oncehook.Signer)
	body, err := signer.Compose(oncehook.Draft{ID: "evt_7", Type: "invoice.paid", Set: map[string]string{
		"data.object.id": "in_99", "data.object.amount_paid": "500", "livemode": "true", "data.object.metadata.note": "7", "data.object.customer": "12",
	}})
	require.NoError(t, err)
	e, err := read(t, string(body))
	require.NoError(t, err)
	require.Equal(t, "in_99", e.Subject)
	require.Empty(t, e.Tenant)
	for _, want := range []string{`"amount_paid": 500`, `"livemode": true`, `"note": "7"`, `"customer": "12"`} {
		require.True(t, bytes.Contains(body, []byte(want)), want)
	}
	for eventType, want := range map[string]string{
		"customer.tax_id.updated": `"object": "tax_id"`, "ping": `"object": "ping"`, "v2.money.transfer.created": `"type": "v2.money.transfer"`,
	} {
		body, err = signer.Compose(oncehook.Draft{ID: "evt_7", Type: eventType})
		require.NoError(t, err)
		require.Contains(t, string(body), want)
		_, err = read(t, string(body))
		require.NoError(t, err)
	}
}
