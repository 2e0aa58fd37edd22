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
	Provider oncehook.Provider
	// Genuine returns a new authentic request that carries at least one event,
	// with an event id that holds id.
	Genuine func(t *testing.T, id string) oncehook.Request
	// Credential is one of the provider's, for a provider that is a Signer.
	Credential oncehook.Credential
	// Tenant is one that Credential's principal may speak for, and Type one that it sends.
	Tenant, Type string
	// Secrets must never appear in an error. Each is at least 8 bytes.
	Secrets []string
	// CredentialHeaders are the headers without which nobody is proven.
	CredentialHeaders []string
	// SignsBody says that the proof covers the body: any change of it is refused.
	SignsBody bool
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
	t.Run("an altered body is refused where the proof covers it", s.alteredBody)
	t.Run("any body is read or refused", s.anyBody)
	t.Run("any header is read or refused", s.anyHeader)
	t.Run("what is composed and signed is read back", s.roundTrip)
}

func (s Subject) genuine(t *testing.T) {
	proof, items := s.read(t, s.Genuine(t, "genuine-1"))
	require.NotEmpty(t, proof.Principal)
	require.NotEmpty(t, proof.CredentialVersion)
	require.NotEmpty(t, proof.Tenants)
	require.NotEmpty(t, items)
	for _, item := range items {
		require.Nil(t, item.Refusal)
		s.checkEvent(t, item.Event)
		require.Contains(t, item.Event.ID, "genuine-1")
	}
}

func (s Subject) read(t *testing.T, r oncehook.Request) (oncehook.Proof, []oncehook.Item) {
	t.Helper()
	proof, err := s.Provider.Verify(r)
	require.NoError(t, err)
	items, err := s.Provider.Events(r, proof)
	require.NoError(t, err)
	return proof, items
}

func (s Subject) deterministic(t *testing.T) {
	r := s.Genuine(t, "same-1")
	proof, items := s.read(t, r)
	done := make(chan bool)
	for range 8 {
		go func() {
			p, err := s.Provider.Verify(r)
			i, err2 := s.Provider.Events(r, p)
			done <- err == nil && err2 == nil && equal(proof, p) && equalItems(items, i)
		}()
	}
	for range 8 {
		require.True(t, <-done)
	}
}

func (s Subject) unmodified(t *testing.T) {
	r := s.Genuine(t, "kept-1")
	header, body := r.Header.Clone(), slices.Clone(r.Body)
	s.read(t, r)
	require.Equal(t, header, r.Header)
	require.Equal(t, body, r.Body)
}

func (s Subject) noCredential(t *testing.T) {
	require.NotEmpty(t, s.CredentialHeaders)
	for _, name := range s.CredentialHeaders {
		for _, values := range [][]string{nil, {}, {""}, {"", ""}} {
			r := s.Genuine(t, "bare-1")
			r.Header = r.Header.Clone()
			r.Header[http.CanonicalHeaderKey(name)] = values
			s.mustNotProve(t, r)
		}
	}
	s.mustNotProve(t, Request(nil, nil))
}

func (s Subject) headerAlone(t *testing.T) {
	p, ok := s.Provider.(oncehook.HeaderVerifier)
	if !ok {
		return
	}
	genuine := s.Genuine(t, "header-alone-1")
	bare := genuine
	bare.Body = nil
	require.NoError(t, p.VerifyHeader(bare))
	for _, name := range s.CredentialHeaders {
		for _, value := range append(HostileHeaders(), alterations(genuine.Header.Get(name))...) {
			whole := genuine
			whole.Header = genuine.Header.Clone()
			whole.Header[http.CanonicalHeaderKey(name)] = []string{value}
			bare := whole
			bare.Body = nil
			_, want := s.Provider.Verify(whole)
			require.Equal(t, want, p.VerifyHeader(bare), "%.60q", value)
		}
	}
}

func (s Subject) alteredCredential(t *testing.T) {
	genuine := s.Genuine(t, "altered-1")
	want, _ := s.read(t, genuine)
	for _, name := range s.CredentialHeaders {
		value := genuine.Header.Get(name)
		for _, altered := range alterations(value) {
			r := s.Genuine(t, "altered-1")
			r.Header = r.Header.Clone()
			r.Header[http.CanonicalHeaderKey(name)] = []string{altered}
			if proof, err := s.Provider.Verify(r); err == nil {
				require.Equal(t, want, proof, "an altered credential proved somebody else")
			} else {
				s.checkAuthError(t, err, r)
			}
		}
		r := s.Genuine(t, "altered-1")
		r.Header = r.Header.Clone()
		r.Header[http.CanonicalHeaderKey(name)] = []string{value[:len(value)-1]}
		s.mustNotProve(t, r)
	}
}

func (s Subject) alteredBody(t *testing.T) {
	if !s.SignsBody {
		return
	}
	genuine := s.Genuine(t, "tampered-1")
	for _, altered := range alterations(string(genuine.Body)) {
		r := genuine
		r.Body = []byte(altered)
		if altered != string(genuine.Body) {
			s.mustNotProve(t, r)
		}
	}
}

func (s Subject) anyBody(t *testing.T) {
	genuine := s.Genuine(t, "body-1")
	proof, _ := s.read(t, genuine)
	bodies := append(HostileBodies(), alterations(string(genuine.Body))...)
	for _, body := range bodies {
		r := genuine
		r.Body = []byte(body)
		items, err := s.Provider.Events(r, proof)
		if err != nil {
			s.checkRefusal(t, err, r)
			continue
		}
		for _, item := range items {
			if item.Refusal != nil {
				s.checkRefusal(t, item.Refusal, r)
				continue
			}
			s.checkEvent(t, item.Event)
		}
	}
}

func (s Subject) anyHeader(t *testing.T) {
	for _, value := range HostileHeaders() {
		for _, name := range append([]string{"Content-Type"}, s.CredentialHeaders...) {
			r := s.Genuine(t, "header-1")
			r.Header = r.Header.Clone()
			r.Header[http.CanonicalHeaderKey(name)] = []string{value, value}
			proof, err := s.Provider.Verify(r)
			if err != nil {
				s.checkAuthError(t, err, r)
				continue
			}
			if _, err = s.Provider.Events(r, proof); err != nil {
				s.checkRefusal(t, err, r)
			}
		}
	}
}

func (s Subject) roundTrip(t *testing.T) {
	signer, ok := s.Provider.(oncehook.Signer)
	if !ok {
		return
	}
	draft := oncehook.Draft{ID: "draft-1", Tenant: s.Tenant, Type: s.Type, Now: Received}
	body, err := signer.Compose(draft)
	require.NoError(t, err)
	header, err := signer.Sign(body, draft, s.Credential)
	require.NoError(t, err)
	require.NotEmpty(t, header.Get("Content-Type"))
	proof, items := s.read(t, Request(header, body))
	require.True(t, proof.MaySpeakFor(s.Tenant))
	require.Equal(t, s.Credential.Version, proof.CredentialVersion)
	require.Len(t, items, 1)
	require.Nil(t, items[0].Refusal)
	require.Equal(t, "draft-1", items[0].Event.ID)
	require.Equal(t, s.Tenant, items[0].Event.Tenant)
	require.Equal(t, s.Type, items[0].Event.Type)
}
