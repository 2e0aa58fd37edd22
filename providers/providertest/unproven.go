package providertest

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// with returns the request with other lines of one header.
func with(r oncehook.Request, name string, values ...string) oncehook.Request {
	r.Header = r.Header.Clone()
	r.Header[http.CanonicalHeaderKey(name)] = values
	return r
}

func (s Subject) noCredential(t *testing.T) {
	require.NotEmpty(t, s.CredentialHeaders)
	for _, name := range s.CredentialHeaders {
		for _, values := range [][]string{nil, {}, {""}, {"", ""}} {
			s.mustNotProve(t, with(s.Genuine(t, "bare-1", 1), name, values...))
		}
		genuine := s.Genuine(t, "bare-1", 1)
		value := genuine.Header.Get(name)
		s.mustNotProve(t, with(genuine, name, value, value))
	}
	s.mustNotProve(t, Request(nil, nil))
}

// headerAlone holds VerifyHeader to its word: what it refuses, Verify refuses in the
// same way. Where the body proves nothing, both decide the same.
func (s Subject) headerAlone(t *testing.T) {
	provider := s.Provider(t)
	p, ok := provider.(oncehook.HeaderVerifier)
	if !ok {
		return
	}
	genuine := s.Genuine(t, "header-alone-1", 1)
	bare := genuine
	bare.Body = nil
	require.NoError(t, p.VerifyHeader(bare))
	for _, name := range s.CredentialHeaders {
		for _, value := range append(HostileHeaders(), alterations(genuine.Header.Get(name))...) {
			whole := with(genuine, name, value)
			bare := whole
			bare.Body = nil
			_, want := provider.Verify(whole)
			if got := p.VerifyHeader(bare); got != nil || !s.SignsBody {
				require.Equal(t, want, got, "%.60q", value)
			}
		}
	}
}

func (s Subject) alteredCredential(t *testing.T) {
	genuine := s.Genuine(t, "altered-1", 1)
	want, _ := s.read(t, genuine)
	provider := s.Provider(t)
	for _, name := range s.CredentialHeaders {
		value := genuine.Header.Get(name)
		for _, altered := range alterations(value) {
			r := with(genuine, name, altered)
			if proof, err := provider.Verify(r); err == nil {
				require.Equal(t, want, proof, "an altered credential proved somebody else")
			} else {
				s.checkAuthError(t, err, r)
			}
		}
		s.mustNotProve(t, with(genuine, name, value[:len(value)-1]))
	}
}

func (s Subject) flippedByte(t *testing.T) {
	genuine := s.Genuine(t, "flipped-1", 1)
	s.read(t, genuine)
	for _, name := range s.SignedHeaders {
		value := []byte(genuine.Header.Get(name))
		for n := range value {
			for _, bit := range []byte{1, 0x20, 0x80} {
				flipped := slices.Clone(value)
				flipped[n] ^= bit
				s.mustNotProve(t, with(genuine, name, string(flipped)))
			}
		}
	}
	if !s.SignsBody {
		return
	}
	for n := range genuine.Body {
		r := genuine
		r.Body = slices.Clone(genuine.Body)
		r.Body[n] ^= 1
		s.mustNotProve(t, r)
	}
}

func (s Subject) alteredBody(t *testing.T) {
	if !s.SignsBody {
		return
	}
	genuine := s.Genuine(t, "tampered-1", 1)
	for _, altered := range alterations(string(genuine.Body)) {
		r := genuine
		r.Body = []byte(altered)
		if altered != string(genuine.Body) {
			s.mustNotProve(t, r)
		}
	}
}

func (s Subject) window(t *testing.T) {
	r := s.Genuine(t, "window-1", 1)
	at := func(received time.Time) error {
		r.Received = received
		_, err := s.Provider(t).Verify(r)
		return err
	}
	if s.Window == 0 {
		require.NoError(t, at(Received.Add(-1000*time.Hour)))
		require.NoError(t, at(Received.Add(1000*time.Hour)))
		return
	}
	require.NoError(t, at(Received.Add(s.Window)))
	require.NoError(t, at(Received.Add(-s.Window)))
	require.Equal(t, &oncehook.AuthError{Cause: oncehook.CauseTimestampOld}, at(Received.Add(s.Window+time.Second)))
	require.Equal(t, &oncehook.AuthError{Cause: oncehook.CauseTimestampNew}, at(Received.Add(-s.Window-time.Second)))
	p, ok := s.Provider(t).(oncehook.HeaderVerifier)
	require.True(t, ok, "a time in the header is refused before the body is read")
	r.Received = Received.Add(1000 * time.Hour)
	require.Equal(t, &oncehook.AuthError{Cause: oncehook.CauseTimestampOld}, p.VerifyHeader(r))
}

func (s Subject) rotation(t *testing.T) {
	p := s.Provider(t)
	for n, want := range map[int]oncehook.Proof{
		1: {Principal: "sender", CredentialVersion: "1", Tenants: []string{s.Tenant, "another"}},
		2: {Principal: "sender", CredentialVersion: "2", Tenants: []string{s.Tenant, "another"}},
		7: {Principal: "other", CredentialVersion: "7", Tenants: []string{oncehook.AllTenants}},
	} {
		proof, err := p.Verify(s.Genuine(t, "rotation-1", n))
		require.NoError(t, err)
		require.Equal(t, want, proof)
	}
	expired := &oncehook.AuthError{Cause: oncehook.CauseCredentialExpired}
	r := s.Genuine(t, "rotation-1", 0)
	_, err := p.Verify(r)
	require.Equal(t, expired, err, "at the instant it ends")
	r = s.Genuine(t, "rotation-1", 2)
	r.Received = Received.Add(time.Second - 1)
	_, err = p.Verify(r)
	require.NoError(t, err)
	r.Received = Received.Add(time.Second)
	_, err = p.Verify(r)
	require.Equal(t, expired, err)
	_, err = p.Verify(s.Genuine(t, "rotation-1", 9))
	require.Equal(t, &oncehook.AuthError{Cause: oncehook.CauseWrongSecret}, err)
}

// sharedSecret gives one secret to two credentials, of which the proof could name
// either: a principal with other tenants, or a version that has expired.
func (s Subject) sharedSecret(t *testing.T) {
	for name, share := range map[string]func(*oncehook.Source){
		"two principals": func(src *oncehook.Source) { src.Principals[1].Credentials[0].Secret = s.Secret(1) },
		"two versions":   func(src *oncehook.Source) { src.Principals[0].Credentials[2].Secret = s.Secret(1) },
	} {
		source := s.source()
		share(&source)
		_, err := s.Make(source)
		require.Error(t, err, name)
		require.ErrorContains(t, err, `principal "sender", version "1"`, name)
		s.checkNoSecret(t, err.Error())
	}
}

func (s Subject) malformed(t *testing.T) {
	require.NotEmpty(t, s.Malformed)
	for name, secret := range s.Malformed {
		source := s.source()
		source.Principals[1].Credentials[0].Secret = oncehook.Secret(secret)
		_, err := s.Make(source)
		require.Error(t, err, name)
		for _, named := range []string{`"source"`, `"other"`, `"7"`} {
			require.ErrorContains(t, err, named, name)
		}
		if len(secret) > 0 {
			require.NotContains(t, err.Error(), secret, name)
		}
		s.checkNoSecret(t, err.Error())
	}
	for name, source := range map[string]oncehook.Source{
		"no principal":  {Name: "source", Fields: s.Fields},
		"no credential": {Name: "source", Fields: s.Fields, Principals: []oncehook.Principal{{Name: "sender", Tenants: []string{"t"}}}},
	} {
		_, err := s.Make(source)
		require.ErrorContains(t, err, `"source"`, name)
	}
}
