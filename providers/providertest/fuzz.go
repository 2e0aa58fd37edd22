package providertest

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// FuzzEvents fuzzes the reading of an authentic request's body, in any content type.
func FuzzEvents(f *testing.F, s Subject) {
	f.Add("application/json", s.Body("fuzz-1"))
	for _, body := range HostileBodies() {
		if len(body) < 4096 {
			f.Add("application/json", []byte(body))
			f.Add("application/x-www-form-urlencoded", []byte("payload="+body))
		}
	}
	p, header := s.Provider(f), s.Genuine(f, "fuzz-1", 1).Header
	f.Fuzz(func(t *testing.T, contentType string, body []byte) {
		r := Request(header.Clone(), body)
		r.Header.Set("Content-Type", contentType)
		kept := string(body)
		items, err := p.Events(r, oncehook.Proof{})
		require.Equal(t, kept, string(body))
		if err != nil {
			refusal, ok := errors.AsType[*oncehook.Refusal](err)
			require.True(t, ok)
			require.GreaterOrEqual(t, refusal.Code.Status(), 400)
			require.Less(t, refusal.Code.Status(), 500)
			return
		}
		for _, item := range items {
			s.checkEvent(t, item.Event)
			require.True(t, json.Valid(item.Event.Body), "the standard library finds no JSON in what was accepted")
		}
	})
}

// FuzzVerify fuzzes the proof: nothing but the genuine one is ever accepted.
func FuzzVerify(f *testing.F, s Subject) {
	p, genuine := s.Provider(f), s.Genuine(f, "fuzz-1", 1)
	name := s.CredentialHeaders[0]
	f.Add(genuine.Header.Get(name), genuine.Body)
	for _, value := range HostileHeaders() {
		f.Add(value, genuine.Body)
	}
	f.Fuzz(func(t *testing.T, value string, body []byte) {
		r := genuine
		r.Header = genuine.Header.Clone()
		r.Header[http.CanonicalHeaderKey(name)] = []string{value}
		r.Body = body
		proof, err := p.Verify(r)
		if err != nil {
			authErr, ok := errors.AsType[*oncehook.AuthError](err)
			require.True(t, ok)
			require.True(t, utf8.ValidString(string(authErr.Cause)))
			return
		}
		require.Equal(t, "1", proof.CredentialVersion)
		if s.SignsBody {
			require.Equal(t, string(genuine.Body), string(body), "a forged body was proven")
		}
	})
}
