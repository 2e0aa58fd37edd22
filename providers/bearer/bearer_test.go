package bearer_test

import (
	"bytes"
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/bearer"
	"github.com/oncehook/oncehook/providers/providertest"
)

const (
	token   = "token-of-the-sender-1"
	next    = "token-of-the-sender-2"
	other   = "token-of-another-one"
	expired = "token-that-has-expired"
)

func source() oncehook.Source {
	return oncehook.Source{
		Name: "logistics",
		Principals: []oncehook.Principal{
			{Name: "sender", Tenants: []string{"north", "sandbox"}, Credentials: []oncehook.Credential{
				{Version: "1", Secret: oncehook.Secret(token)},
				{Version: "2", Secret: oncehook.Secret(next), Expires: providertest.Received.Add(time.Second)},
				{Version: "0", Secret: oncehook.Secret(expired), Expires: providertest.Received},
			}},
			{Name: "other", Tenants: []string{oncehook.AllTenants}, Credentials: []oncehook.Credential{{Version: "7", Secret: oncehook.Secret(other)}}},
		},
		Fields: oncehook.Fields{Required: []string{"shipment_id", "depot_id"}, Subject: "shipment_id"},
	}
}

func provider(t testing.TB) *bearer.Provider {
	t.Helper()
	p, err := bearer.New(source())
	require.NoError(t, err)
	return p
}

func request(authorization []string, body string) oncehook.Request {
	return providertest.Request(http.Header{"Authorization": authorization, "Content-Type": {"application/json"}}, []byte(body))
}

func subject() providertest.Subject {
	return providertest.Subject{
		Make:   func(src oncehook.Source) (oncehook.Provider, error) { return bearer.New(src) },
		Fields: source().Fields,
		Secret: func(n int) oncehook.Secret { return oncehook.Secret("token-of-the-suite-" + strconv.Itoa(n)) },
		Body: func(id string) []byte {
			return []byte(`{"id":"` + id + `","tenant":"north","type":"shipment.depot_arrival","shipment_id":"s","depot_id":"d"}`)
		},
		Again:             func(body []byte) []byte { return bytes.Replace(body, []byte(`{`), []byte(`{"attempt":2,`), 1) },
		Changed:           func(body []byte) []byte { return bytes.Replace(body, []byte(`"d"`), []byte(`"e"`), 1) },
		Tenant:            "north",
		Type:              "shipment.depot_arrival",
		CredentialHeaders: []string{"Authorization"},
		Malformed:         map[string]string{"empty": "", "a space": "malformed token", "a line end": "malformed-token\n"},
	}
}

func TestConformance(t *testing.T) { providertest.Run(t, subject()) }

func TestATokenProvesItsPrincipalAndVersion(t *testing.T) {
	for header, want := range map[string]oncehook.Proof{
		"Bearer " + token:   {Principal: "sender", CredentialVersion: "1", Tenants: []string{"north", "sandbox"}},
		"bearer " + next:    {Principal: "sender", CredentialVersion: "2", Tenants: []string{"north", "sandbox"}},
		"BEARER   " + other: {Principal: "other", CredentialVersion: "7", Tenants: []string{oncehook.AllTenants}},
	} {
		proof, err := provider(t).Verify(request([]string{header}, ""))
		require.NoError(t, err, header)
		require.Equal(t, want, proof)
	}
}

func TestEveryFailureHasItsCause(t *testing.T) {
	for name, c := range map[string]struct {
		headers []string
		want    oncehook.Cause
	}{
		"none":         {nil, oncehook.CauseCredentialMissing},
		"empty":        {[]string{""}, oncehook.CauseCredentialMissing},
		"scheme alone": {[]string{"Bearer"}, oncehook.CauseCredentialMalformed},
		"blank token":  {[]string{"Bearer  "}, oncehook.CauseCredentialMalformed},
		"token alone":  {[]string{token}, oncehook.CauseCredentialMalformed},
		"other scheme": {[]string{"Basic " + token}, oncehook.CauseCredentialMalformed},
		"two words":    {[]string{"Bearer " + token + " x"}, oncehook.CauseCredentialMalformed},
		"high bytes":   {[]string{"Bearer \xff\xfe"}, oncehook.CauseCredentialMalformed},
		"two headers":  {[]string{"Bearer " + token, "Bearer " + token}, oncehook.CauseCredentialMalformed},
		"wrong":        {[]string{"Bearer nonsense"}, oncehook.CauseWrongSecret},
		"prefix":       {[]string{"Bearer " + token[:len(token)-1]}, oncehook.CauseWrongSecret},
		"expired":      {[]string{"Bearer " + expired}, oncehook.CauseCredentialExpired},
	} {
		t.Run(name, func(t *testing.T) {
			proof, err := provider(t).Verify(request(c.headers, ""))
			authErr, ok := errors.AsType[*oncehook.AuthError](err)
			require.True(t, ok)
			require.Equal(t, c.want, authErr.Cause)
			require.Zero(t, proof)
		})
	}
}

func TestACredentialEndsAtItsInstant(t *testing.T) {
	r := request([]string{"Bearer " + next}, "")
	r.Received = providertest.Received.Add(time.Second - 1)
	_, err := provider(t).Verify(r)
	require.NoError(t, err)
	r.Received = r.Received.Add(1)
	_, err = provider(t).Verify(r)
	require.Error(t, err)
}

func TestUnusableSourcesAreRefusedWithoutTellingTheSecret(t *testing.T) {
	for name, change := range map[string]func(*oncehook.Source){
		"no principal":  func(s *oncehook.Source) { s.Principals = nil },
		"no credential": func(s *oncehook.Source) { s.Principals = []oncehook.Principal{{Name: "x"}} },
		"empty token":   func(s *oncehook.Source) { s.Principals[0].Credentials[0].Secret = nil },
		"space in token": func(s *oncehook.Source) {
			s.Principals[0].Credentials[0].Secret = oncehook.Secret("hidden text of five words")
		},
		"high bytes":         func(s *oncehook.Source) { s.Principals[0].Credentials[0].Secret = oncehook.Secret("hidden\xff") },
		"requires id":        func(s *oncehook.Source) { s.Fields.Required = []string{"ID"} },
		"requires twice":     func(s *oncehook.Source) { s.Fields = oncehook.Fields{Required: []string{"a", "A"}} },
		"requires nothing":   func(s *oncehook.Source) { s.Fields = oncehook.Fields{Required: []string{""}} },
		"subject not needed": func(s *oncehook.Source) { s.Fields.Subject = "x" },
	} {
		t.Run(name, func(t *testing.T) {
			s := source()
			change(&s)
			_, err := bearer.New(s)
			require.Error(t, err)
			require.NotContains(t, err.Error(), "hidden")
		})
	}
}
