package ingress_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/ingress"
	"github.com/oncehook/oncehook/providers"
)

const (
	whsec        = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
	githubSecret = "secret-of-the-webhook"
)

// public is a source of a public provider, of the one given type.
func public(t testing.TB, kind, secret, eventType string) ingress.Source {
	t.Helper()
	p, err := providers.New(kind, oncehook.Source{Name: kind, Principals: []oncehook.Principal{
		{Name: kind, Tenants: []string{"dev", "repository:7"}, Credentials: []oncehook.Credential{{Version: "1", Secret: oncehook.Secret(secret)}}},
	}})
	require.NoError(t, err)
	return ingress.Source{Name: kind, Kind: kind, Provider: p, Types: []string{eventType}, DefaultTenant: "dev", BodyLimit: 1 << 20, Retention: "standard"}
}

func startPublic(t testing.TB) (*system, map[string]ingress.Source) {
	t.Helper()
	sources := map[string]ingress.Source{
		"stripe": public(t, "stripe", whsec, "invoice.paid"), "github": public(t, "github", githubSecret, "push"),
		"standard-webhooks": public(t, "standard-webhooks", whsec, "invoice.paid"),
	}
	return start(t, func(s *setup) {
		for _, source := range sources {
			s.Sources = append(s.Sources, source)
		}
	}), sources
}

// signed posts a body that the source's provider signs now.
func (s *system) signed(source ingress.Source, id, eventType, body string, changes ...request) answer {
	s.t.Helper()
	secret := whsec
	if source.Kind == "github" {
		secret = githubSecret
	}
	h, err := source.Provider.(oncehook.Signer).Sign([]byte(body), oncehook.Draft{ID: id, Type: eventType, Now: time.Now()}, oncehook.Credential{Version: "1", Secret: oncehook.Secret(secret)})
	require.NoError(s.t, err)
	signed := func(r *http.Request) {
		r.Header.Del("Authorization")
		for name, values := range h {
			r.Header[name] = values
		}
	}
	return s.post(source.Name, body, append([]request{signed}, changes...)...)
}

func composed(t testing.TB, source ingress.Source, d oncehook.Draft) string {
	t.Helper()
	body, err := source.Provider.(oncehook.Signer).Compose(d)
	require.NoError(t, err)
	return string(body)
}

// acknowledgedAs checks the answer to a refusal that no retry mends.
func (s *system) acknowledgedAs(a answer, decision oncehook.Decision) answer {
	s.t.Helper()
	require.Equal(s.t, http.StatusOK, a.status, a.body)
	require.Equal(s.t, "application/json", a.header.Get("Content-Type"))
	require.Equal(s.t, string(decision), a.text("status"))
	require.Len(s.t, a.text("correlation_id"), 36)
	s.protected(a)
	return a
}

func TestPublicProvidersAreAcceptedOnceAndRefusedWithoutAProof(t *testing.T) {
	t.Parallel()
	s, sources := startPublic(t)
	for kind, source := range sources {
		eventType := source.Types[0]
		body := composed(t, source, oncehook.Draft{ID: "e1", Type: eventType, Tenant: map[string]string{"github": "repository:7"}[kind]})
		a := s.acceptedAs(s.signed(source, "e1", eventType, body), oncehook.Accepted)
		require.True(t, strings.HasSuffix(a.text("event_key"), ":e1"), a.body)
		s.acceptedAs(s.signed(source, "e1", eventType, body), oncehook.Duplicate)
		bad := s.refusedWith(s.signed(source, "e1", eventType, body, func(r *http.Request) {
			for _, name := range []string{"Stripe-Signature", "Webhook-Signature", "X-Hub-Signature-256"} {
				if value := r.Header.Get(name); value != "" {
					// One character of the signature, away from its padding.
					at := len(value) - 4
					r.Header.Set(name, value[:at]+string("01"[btoi(value[at] == '0')])+value[at+1:])
				}
			}
		}), http.StatusUnauthorized, oncehook.CodeUnauthenticated)
		require.Equal(t, "Signature", bad.header.Get("WWW-Authenticate"))
		require.NotContains(t, bad.body, "secret")
	}
	for kind := range sources {
		s.counted(kind, oncehook.Unauthenticated, string(oncehook.CauseWrongSecret))
	}
	require.Equal(t, 3, s.number(`SELECT count(*) FROM oncehook.event_keys`))
}

func TestEveryFailureOfTheProofIsAnsweredAlike(t *testing.T) {
	t.Parallel()
	expired, err := providers.New("stripe", oncehook.Source{Name: "stripe", Principals: []oncehook.Principal{{
		Name: "stripe", Tenants: []string{"dev"}, Credentials: []oncehook.Credential{
			{Version: "1", Secret: oncehook.Secret(whsec), Expires: time.Unix(1, 0)}, {Version: "2", Secret: oncehook.Secret("whsec_of-the-next-version")},
		},
	}}})
	require.NoError(t, err)
	source := public(t, "stripe", whsec, "invoice.paid")
	source.Provider = expired
	s := start(t, func(s *setup) { s.Sources = append(s.Sources, source) })
	edit := func(change func(string) string) request {
		return func(r *http.Request) { r.Header.Set("Stripe-Signature", change(r.Header.Get("Stripe-Signature"))) }
	}
	changes := map[oncehook.Cause]request{
		oncehook.CauseCredentialExpired:   edit(func(v string) string { return v }),
		oncehook.CauseWrongSecret:         edit(func(v string) string { return v[:len(v)-64] + strings.Repeat("0", 64) }),
		oncehook.CauseCredentialMissing:   func(r *http.Request) { r.Header.Del("Stripe-Signature") },
		oncehook.CauseCredentialMalformed: edit(func(v string) string { return v[:len(v)-1] }),
		oncehook.CauseSchemeUnsupported:   edit(func(v string) string { return strings.Replace(v, "v1=", "v0=", 1) }),
		oncehook.CauseTimestampMalformed:  edit(func(v string) string { return strings.Replace(v, "t=", "t=+", 1) }),
		oncehook.CauseTimestampOld:        edit(func(v string) string { return "t=1" + v[strings.Index(v, ","):] }),
		oncehook.CauseTimestampNew:        edit(func(v string) string { return "t=99999999999" + v[strings.Index(v, ","):] }),
	}
	var first answer
	for cause, change := range changes {
		a := s.signed(source, "", "", "{}", change)
		a.body = strings.Replace(a.body, a.text("correlation_id"), "", 1)
		a.header.Del("Date")
		a.fields = nil
		if first.status == 0 {
			first = a
		}
		require.Equal(t, first, a, cause)
	}
	require.Equal(t, http.StatusUnauthorized, first.status)
	for cause := range changes {
		s.counted("stripe", oncehook.Unauthenticated, string(cause))
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestAConflictFromAPublicProviderIsAcknowledgedAndKept(t *testing.T) {
	t.Parallel()
	s, sources := startPublic(t)
	source := sources["stripe"]
	first := s.acceptedAs(s.signed(source, "", "", composed(t, source, oncehook.Draft{ID: "evt_1", Type: "invoice.paid"})), oncehook.Accepted)
	changed := composed(t, source, oncehook.Draft{ID: "evt_1", Type: "invoice.paid", Set: map[string]string{"data.object.amount_paid": "1"}})
	a := s.acknowledgedAs(s.signed(source, "", "", changed), oncehook.Conflict)
	require.Equal(t, first.text("receipt_id"), a.text("receipt_id"))
	require.Len(t, a.fields, 5, a.body)
	require.Equal(t, "event_conflict", a.text("code"))
	require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.conflicts WHERE receipt_id = $1`, first.text("receipt_id")))
	require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.audit WHERE outcome = 'conflict'`))
	require.Contains(t, s.log.String(), `"code":"event_conflict"`)
}

func TestWhatNoRetryMendsIsAcknowledgedAndKept(t *testing.T) {
	t.Parallel()
	s, sources := startPublic(t)
	stripe := sources["stripe"]
	for code, a := range map[oncehook.Code]answer{
		oncehook.CodeTypeUnrecognized: s.signed(stripe, "", "", composed(t, stripe, oncehook.Draft{ID: "evt_2", Type: "charge.succeeded"})),
		oncehook.CodeMalformedJSON:    s.signed(stripe, "", "", "no JSON"),
		oncehook.CodeFieldMissing:     s.signed(stripe, "", "", `{"object":"event","type":"invoice.paid"}`),
		oncehook.CodeFieldInvalid:     s.signed(sources["standard-webhooks"], "m1", "", `{"type":"invoice.paid","tenant":7}`),
		oncehook.CodeFieldAmbiguous:   s.signed(sources["github"], "g1", "push", `{"ref":1,"REF":2}`),
	} {
		s.acknowledgedAs(a, oncehook.Rejected)
		require.Len(t, a.fields, 4, "a rejected delivery has no receipt: %s", a.body)
		require.Equal(t, string(code), a.text("code"))
		require.NotEmpty(t, a.text("detail"))
		require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.rejected_deliveries WHERE code = $1 AND id = $2`, string(code), a.text("correlation_id")), code)
		require.Contains(t, s.log.String(), `"code":"`+string(code)+`"`)
	}
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.event_keys`))
	require.Equal(t, 5, s.number(`SELECT count(*) FROM oncehook.audit WHERE outcome = 'rejected'`))
}

func TestAForbiddenTenantIsNotAcknowledged(t *testing.T) {
	t.Parallel()
	s, sources := startPublic(t)
	body := composed(t, sources["stripe"], oncehook.Draft{ID: "evt_3", Type: "invoice.paid", Tenant: "acct_of_another"})
	s.refusedWith(s.signed(sources["stripe"], "", "", body), http.StatusForbidden, oncehook.CodeTenantForbidden)
}

func TestBearerSendersAreToldOfRefusals(t *testing.T) {
	t.Parallel()
	s := start(t)
	s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
	s.refusedWith(s.post("logistics", event("e1", "depot-1", "depot-2")), http.StatusConflict, oncehook.CodeEventConflict)
	s.refusedWith(s.post("logistics", event("e2", arrival, "x")), http.StatusUnprocessableEntity, oncehook.CodeTypeUnrecognized)
}

func TestGitHubsFormAndPingAreTaken(t *testing.T) {
	t.Parallel()
	s, sources := startPublic(t)
	github := sources["github"]
	body := composed(t, github, oncehook.Draft{Type: "push", Tenant: "repository:7"})
	form := "payload=" + url.QueryEscape(body)
	asForm := header("Content-Type", "application/x-www-form-urlencoded")
	first := s.acceptedAs(s.signed(github, "g1", "push", form, asForm), oncehook.Accepted)
	require.Equal(t, "github:repository~3A7:g1", first.text("event_key"))
	again := s.acceptedAs(s.signed(github, "g1", "push", body), oncehook.Duplicate)
	require.Equal(t, first.text("receipt_id"), again.text("receipt_id"), "a form and its JSON are one event")

	ping := composed(t, github, oncehook.Draft{Type: "ping", Tenant: "repository:7"})
	s.acceptedAs(s.signed(github, "g2", "ping", ping, asForm, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }), oncehook.Accepted)
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.rejected_deliveries`))

	s.refusedWith(s.signed(github, "g3", "push", body, header("Content-Type", "text/plain")), http.StatusUnsupportedMediaType, oncehook.CodeContentTypeUnsupported)
	s.refusedWith(s.signed(sources["stripe"], "", "", form, asForm), http.StatusUnsupportedMediaType, oncehook.CodeContentTypeUnsupported)
}

func TestAnOldSignedTimeIsRefusedBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	s, sources := startPublic(t)
	source := sources["stripe"]
	h, err := source.Provider.(oncehook.Signer).Sign([]byte("{}"), oncehook.Draft{Now: time.Now().Add(-time.Hour)}, oncehook.Credential{Secret: oncehook.Secret(whsec)})
	require.NoError(t, err)
	body := &unread{}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/hooks/stripe", body)
	require.NoError(t, err)
	r.Header = h
	r.Header.Set("Expect", "100-continue")
	r.ContentLength = 1000
	response, err := (&http.Client{Transport: &http.Transport{ExpectContinueTimeout: time.Minute}}).Do(r)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusUnauthorized, response.StatusCode)
	require.False(t, body.read, "no byte of a replayed body is asked for")
	s.counted("stripe", oncehook.Unauthenticated, string(oncehook.CauseTimestampOld))
}

// unread is a body that tells whether it was asked for.
type unread struct{ read bool }

func (u *unread) Read(b []byte) (int, error) {
	u.read = true
	return len(b), nil
}

// agreeable acknowledges everything it is asked about.
type agreeable struct{ lines }

func (agreeable) Acknowledges(oncehook.Code) bool { return true }

func TestOnlyWhatIsCommittedIsAcknowledgedWhateverTheProviderSays(t *testing.T) {
	t.Parallel()
	s := start(t, several(func(l lines) oncehook.Provider { return agreeable{l} }), func(s *setup) { s.Sources[0].Rate, s.Sources[0].Burst = 0.001, 2 })
	s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
	a := s.acknowledgedAs(s.post("logistics", event("e1", "depot-1", "depot-2")+"\n"+event("e2")), oncehook.Conflict)
	results, _ := a.fields["results"].([]any)
	require.Len(t, results, 2, "each of the unit is told: %s", a.body)
	s.acknowledgedAs(s.post("logistics", event("e3", "north", "south")), oncehook.TenantForbidden)
	s.refusedWith(s.post("logistics", event("e3")), http.StatusTooManyRequests, oncehook.CodeRateLimited)
	s.refusedWith(s.post("logistics", event("e3"), bearerOf("nonsense-nonsense")), http.StatusUnauthorized, oncehook.CodeUnauthenticated)
	s.refusedWith(s.post("logistics", "bug"), http.StatusInternalServerError, oncehook.CodeInternal)
}
