// Package providertest is what every provider must pass, whatever its scheme: it
// authenticates nobody unproven, reads the same events every time, and neither
// panics nor tells secrets, whatever the bytes.
package providertest

import (
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// Subject is a provider under test.
type Subject struct {
	// Make is the provider's constructor. The source has two principals, sender and
	// other, and the credentials of Secret.
	Make func(oncehook.Source) (oncehook.Provider, error)
	// Fields configures what the provider reads, where it can be configured.
	Fields oncehook.Fields
	// Secret returns the nth secret that a source can be configured with, always the
	// same for the same n. Each is at least 8 bytes.
	Secret func(n int) oncehook.Secret
	// Signing returns what signs for the nth secret; nil means the secret itself.
	Signing func(n int) oncehook.Secret
	// Body is an event's body with an id that holds id, where the body holds it.
	Body func(id string) []byte
	// Again is the same event's body as a later attempt sends it, its volatile fields
	// changed; nil means unchanged.
	Again func(body []byte) []byte
	// Changed is the body with another business fact under the same id.
	Changed func(body []byte) []byte
	// Tenant and Type are those of Body, and can be written in a draft.
	Tenant, Type string
	// CredentialHeaders are the headers without which nobody is proven.
	CredentialHeaders []string
	// SignedHeaders are the credential headers of which every byte counts.
	SignedHeaders []string
	// SignsBody says that the proof covers the body: any change of it is refused.
	SignsBody bool
	// Window is how old or new a signed time may be; 0 means that none is signed.
	Window time.Duration
	// Malformed are secrets that the constructor refuses, by what is wrong with them.
	Malformed map[string]string
	// Acknowledges says that the provider answers final refusals with 2xx.
	Acknowledges bool
}

// Received is when the suite's requests arrive.
var Received = time.Date(2026, 11, 30, 18, 0, 0, 0, time.UTC)

// Request makes a POST as the suite's requests are.
func Request(header http.Header, body []byte) oncehook.Request {
	return oncehook.Request{
		Method: http.MethodPost, URL: "https://hooks.example.test/hooks/source", Header: header, Body: body,
		Peer: netip.MustParseAddr("192.0.2.7"), Received: Received,
	}
}

// Run runs the whole suite.
func Run(t *testing.T, s Subject) {
	t.Run("a genuine request proves a principal and carries events", s.genuine)
	t.Run("the same request reads the same, at once and concurrently", s.deterministic)
	t.Run("a request is not modified", s.unmodified)
	t.Run("without its credential nobody is proven", s.noCredential)
	t.Run("the header alone is refused as the whole request is", s.headerAlone)
	t.Run("an altered credential is refused or means the same", s.alteredCredential)
	t.Run("every flipped signed byte is refused", s.flippedByte)
	t.Run("an altered body is refused where the proof covers it", s.alteredBody)
	t.Run("a signed time outside the window is refused", s.window)
	t.Run("a rotation accepts old and new secret, and names the one that matched", s.rotation)
	t.Run("a malformed secret is refused at start, and named without being told", s.malformed)
	t.Run("a secret proves one credential only", s.sharedSecret)
	t.Run("two deliveries of one event have one key and fingerprint", s.twoDeliveries)
	t.Run("the order of headers does not count", s.headerOrder)
	t.Run("any body is read or refused", s.anyBody)
	t.Run("any header is read or refused", s.anyHeader)
	t.Run("what is composed and signed is read back", s.roundTrip)
	t.Run("only refusals that no retry mends are acknowledged", s.acknowledged)
}

// Provider makes the subject's provider: sender has the secrets 1 and 2, the latter
// until a second after Received, and 0, which has expired; other has secret 7.
func (s Subject) Provider(t testing.TB) oncehook.Provider {
	t.Helper()
	p, err := s.Make(s.source())
	require.NoError(t, err)
	return p
}

func (s Subject) source() oncehook.Source {
	return oncehook.Source{
		Name: "source",
		Principals: []oncehook.Principal{
			{Name: "sender", Tenants: []string{s.Tenant, "another"}, Credentials: []oncehook.Credential{
				{Version: "1", Secret: s.Secret(1)},
				{Version: "2", Secret: s.Secret(2), Expires: Received.Add(time.Second)},
				{Version: "0", Secret: s.Secret(0), Expires: Received},
			}},
			{Name: "other", Tenants: []string{oncehook.AllTenants}, Credentials: []oncehook.Credential{{Version: "7", Secret: s.Secret(7)}}},
		},
		Fields: s.Fields,
	}
}

// Genuine returns an authentic request with the event of id, signed at Received with
// the nth secret.
func (s Subject) Genuine(t testing.TB, id string, n int) oncehook.Request {
	t.Helper()
	return s.signed(t, s.Body(id), id, n, Received)
}

func (s Subject) signed(t testing.TB, body []byte, id string, n int, at time.Time) oncehook.Request {
	t.Helper()
	signer, ok := s.Provider(t).(oncehook.Signer)
	require.True(t, ok, "the suite needs a Signer")
	header, err := signer.Sign(body, oncehook.Draft{ID: id, Type: s.Type, Tenant: s.Tenant, Now: at}, oncehook.Credential{Version: "x", Secret: s.signing(n)})
	require.NoError(t, err)
	r := Request(header, body)
	r.Received = at
	return r
}

func (s Subject) read(t *testing.T, r oncehook.Request) (oncehook.Proof, []oncehook.Item) {
	t.Helper()
	p := s.Provider(t)
	proof, err := p.Verify(r)
	require.NoError(t, err)
	items, err := p.Events(r, proof)
	require.NoError(t, err)
	return proof, items
}

func (s Subject) genuine(t *testing.T) {
	proof, items := s.read(t, s.Genuine(t, "genuine-1", 1))
	require.Equal(t, oncehook.Proof{Principal: "sender", CredentialVersion: "1", Tenants: []string{s.Tenant, "another"}}, proof)
	require.NotEmpty(t, items)
	for _, item := range items {
		require.Nil(t, item.Refusal)
		s.checkEvent(t, item.Event)
		require.Contains(t, item.Event.ID, "genuine-1")
		require.Equal(t, s.Tenant, item.Event.Tenant)
		require.Equal(t, s.Type, item.Event.Type)
	}
}

func (s Subject) deterministic(t *testing.T) {
	r := s.Genuine(t, "same-1", 1)
	proof, items := s.read(t, r)
	provider := s.Provider(t)
	done := make(chan bool)
	for range 8 {
		go func() {
			p, err := provider.Verify(r)
			i, err2 := provider.Events(r, p)
			done <- err == nil && err2 == nil && equal(proof, p) && equalItems(items, i)
		}()
	}
	for range 8 {
		require.True(t, <-done)
	}
}

func (s Subject) unmodified(t *testing.T) {
	r := s.Genuine(t, "kept-1", 1)
	header, body := r.Header.Clone(), slices.Clone(r.Body)
	s.read(t, r)
	require.Equal(t, header, r.Header)
	require.Equal(t, body, r.Body)
}

func (s Subject) roundTrip(t *testing.T) {
	signer, ok := s.Provider(t).(oncehook.Signer)
	require.True(t, ok)
	types := []string{s.Type}
	if sampler, ok := signer.(oncehook.Sampler); ok {
		types = append(types, sampler.Samples()...)
	}
	for _, eventType := range types {
		draft := oncehook.Draft{ID: "draft-1", Tenant: s.Tenant, Type: eventType, Now: Received}
		body, err := signer.Compose(draft)
		require.NoError(t, err, eventType)
		again := draft
		again.Now = Received.Add(time.Hour)
		later, err := signer.Compose(again)
		require.NoError(t, err)
		require.Equal(t, string(body), string(later), "a draft is the same event whenever it is sent")
		header, err := signer.Sign(body, draft, oncehook.Credential{Version: "1", Secret: s.signing(1)})
		require.NoError(t, err)
		require.NotEmpty(t, header.Get("Content-Type"))
		proof, items := s.read(t, Request(header, body))
		require.True(t, proof.MaySpeakFor(s.Tenant))
		require.Equal(t, "1", proof.CredentialVersion)
		require.Len(t, items, 1)
		require.Nil(t, items[0].Refusal)
		s.checkEvent(t, items[0].Event)
		require.Equal(t, "draft-1", items[0].Event.ID)
		require.Equal(t, s.Tenant, items[0].Event.Tenant)
		require.Equal(t, eventType, items[0].Event.Type)
	}
}

func (s Subject) signing(n int) oncehook.Secret {
	if s.Signing != nil {
		return s.Signing(n)
	}
	return s.Secret(n)
}

func (s Subject) acknowledged(t *testing.T) {
	a, ok := s.Provider(t).(oncehook.Acknowledger)
	require.Equal(t, s.Acknowledges, ok)
	if !ok {
		return
	}
	for _, code := range []oncehook.Code{oncehook.CodeEventConflict, oncehook.CodeTypeUnrecognized} {
		require.True(t, a.Acknowledges(code), code)
	}
	for _, code := range []oncehook.Code{
		oncehook.CodeUnauthenticated, oncehook.CodeRateLimited, oncehook.CodeUnavailable, oncehook.CodeInternal,
		oncehook.CodeTenantForbidden, oncehook.CodeRequestTimeout, oncehook.CodeBodyTooLarge,
	} {
		require.False(t, a.Acknowledges(code), code)
	}
}
