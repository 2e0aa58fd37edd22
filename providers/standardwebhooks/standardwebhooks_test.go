package standardwebhooks_test

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/providertest"
)

const sound = `{"type":"invoice.paid","timestamp":"2026-11-30T10:30:00.5+01:00","tenant":"acme","data":{"id":"invoice-42","amount":12900}}`

func secret(n int) oncehook.Secret {
	return oncehook.Secret("whsec_" + base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{byte(n + 1)}, 32)))
}

func private(n int) ed25519.PrivateKey {
	return ed25519.NewKeyFromSeed(bytes.Repeat([]byte{byte(n + 1)}, ed25519.SeedSize))
}

func subject() providertest.Subject {
	return providertest.Subject{
		Make:              build,
		Secret:            secret,
		Body:              func(string) []byte { return []byte(sound) },
		Again:             func(body []byte) []byte { return bytes.ReplaceAll(body, []byte(`,"`), []byte(` , "`)) },
		Changed:           func(body []byte) []byte { return bytes.Replace(body, []byte("12900"), []byte("12901"), 1) },
		Tenant:            "acme",
		Type:              "invoice.paid",
		CredentialHeaders: []string{"Webhook-Signature", "Webhook-Id", "Webhook-Timestamp"},
		SignedHeaders:     []string{"Webhook-Signature", "Webhook-Id", "Webhook-Timestamp"},
		SignsBody:         true,
		Window:            5 * time.Minute,
		Acknowledges:      true,
		Malformed: map[string]string{
			"empty": "", "no prefix": "MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "a version before it": "v1,whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw",
			"not base64": "whsec_malformed-0123456789-0123456789", "too short": "whsec_AAAAAAAAAAAAAAAAAAAAAA==", "too long": "whsec_" + strings.Repeat("A", 88),
			"a short public key": "whpk_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA", "a private key": "whsk_" + base64.StdEncoding.EncodeToString(private(1)),
		},
	}
}

func TestSymmetricConformance(t *testing.T) { providertest.Run(t, subject()) }

func TestAsymmetricConformance(t *testing.T) {
	s := subject()
	s.Secret = func(n int) oncehook.Secret {
		return oncehook.Secret("whpk_" + base64.StdEncoding.EncodeToString(private(n).Public().(ed25519.PublicKey)))
	}
	s.Signing = func(n int) oncehook.Secret {
		return oncehook.Secret("whsk_" + base64.StdEncoding.EncodeToString(private(n)))
	}
	providertest.Run(t, s)
}

func FuzzEvents(f *testing.F) { providertest.FuzzEvents(f, subject()) }

func FuzzVerify(f *testing.F) { providertest.FuzzVerify(f, subject()) }

func events(t *testing.T, id, body string) (oncehook.Event, error) {
	t.Helper()
	items, err := subject().Provider(t).Events(providertest.Request(http.Header{"Webhook-Id": {id}}, []byte(body)), oncehook.Proof{})
	if err != nil {
		return oncehook.Event{}, err
	}
	require.Len(t, items, 1)
	return items[0].Event, nil
}

func TestADeliveryIsOneEvent(t *testing.T) {
	e, err := events(t, "msg_1", sound)
	require.NoError(t, err)
	require.Equal(t, oncehook.Event{
		ID: "msg_1", Tenant: "acme", Type: "invoice.paid", Subject: "invoice-42", OccurredAt: time.Date(2026, 11, 30, 9, 30, 0, 5e8, time.UTC),
		Compared: []byte(`{"type":"invoice.paid","timestamp":"2026-11-30T09:30:00.5Z","tenant":"acme","data":{"id":"invoice-42","amount":12900}}`), Body: []byte(sound),
	}, e)
}

func TestTheBodyNeedsATypeAlone(t *testing.T) {
	e, err := events(t, "msg_1", `{"type":"t"}`)
	require.NoError(t, err)
	require.Equal(t, []string{oncehook.FlagUnordered}, e.Flags)
	for _, body := range []string{
		`{"type":"t","timestamp":1796030998,"data":[]}`, `{"type":"t","timestamp":"yesterday","data":"x"}`, `{"type":"t","data":{"id":{}}}`,
		`{"type":"t","data":{"id":"\u0000"}}`, `{"type":"t","data":{"id":"` + strings.Repeat("x", 1001) + `"}}`, `{"type":"t","tenant":null,"data":null}`,
	} {
		e, err := events(t, "msg_1", body)
		require.NoError(t, err, body)
		require.True(t, e.OccurredAt.IsZero())
		require.Empty(t, e.Subject)
		require.Empty(t, e.Tenant)
	}
}

func TestRefusalsNameTheField(t *testing.T) {
	for name, c := range map[string]struct {
		id, body string
		code     oncehook.Code
		field    string
	}{
		"no id":          {"", sound, oncehook.CodeFieldMissing, "webhook-id"},
		"long id":        {strings.Repeat("x", 1001), sound, oncehook.CodeIDTooLong, "webhook-id"},
		"no type":        {"msg_1", `{}`, oncehook.CodeFieldMissing, "type"},
		"long type":      {"msg_1", `{"type":"` + strings.Repeat("x", 256) + `"}`, oncehook.CodeFieldInvalid, "type"},
		"number tenant":  {"msg_1", `{"type":"t","tenant":7}`, oncehook.CodeFieldInvalid, "tenant"},
		"a member twice": {"msg_1", `{"type":"t","data":1,"data":2}`, oncehook.CodeFieldAmbiguous, ""},
		"a name by case": {"msg_1", `{"type":"t","data":1,"Data":2}`, oncehook.CodeFieldAmbiguous, ""},
		"type by case":   {"msg_1", `{"Type":"t"}`, oncehook.CodeFieldAmbiguous, "type"},
		"no object":      {"msg_1", `null`, oncehook.CodeMalformedJSON, ""},
		"nothing":        {"msg_1", ``, oncehook.CodeMalformedJSON, ""},
	} {
		_, err := events(t, c.id, c.body)
		var refusal *oncehook.Refusal
		require.ErrorAs(t, err, &refusal, name)
		require.Equal(t, c.code, refusal.Code, name)
		require.Equal(t, c.field, refusal.Field, name)
	}
}

// published is a delivery whose v1a signature Svix's server tests print.
func published() oncehook.Request {
	r := providertest.Request(http.Header{
		"Webhook-Id": {"msg_p5jXN8AQM9LWM0D4loKWxJek"}, "Webhook-Timestamp": {"1614265330"},
		"Webhook-Signature": {"v1a,hnO3f9T8Ytu9HwrXslvumlUpqtNVqkhqw/enGzPCXe5BdqzCInXqYXFymVJaA7AZdpXwVLPo3mNl8EM+m7TBAg=="},
	}, []byte(`{"test": 2432232314}`))
	r.Received = time.Unix(1614265330, 0)
	return r
}

func TestThePublishedAsymmetricSignatureIsAccepted(t *testing.T) {
	p, err := build(oncehook.Source{Name: "s", Principals: []oncehook.Principal{{Name: "p", Tenants: []string{"t"}, Credentials: []oncehook.Credential{
		{Version: "hmac", Secret: secret(1)}, {Version: "ed25519", Secret: oncehook.Secret("whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4=")},
	}}}})
	require.NoError(t, err)
	proof, err := p.Verify(published())
	require.NoError(t, err)
	require.Equal(t, "ed25519", proof.CredentialVersion)
}

// Under a key of small order, such as one of nothing but zeros, this signature suits
// one message in eight or more, whoever wrote it.
func TestAPublicKeyForWhichAnybodyCanSignIsRefused(t *testing.T) {
	anybodys := make([]byte, ed25519.SignatureSize)
	anybodys[0] = 1
	for _, text := range []string{
		"0000000000000000000000000000000000000000000000000000000000000000", "0100000000000000000000000000000000000000000000000000000000000000",
		"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
		"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f", "26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
		"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a", "0000000000000000000000000000000000000000000000000000000000000080",
	} {
		public, err := hex.DecodeString(text)
		require.NoError(t, err)
		forged := false
		for n := range 256 {
			forged = forged || ed25519.Verify(public, []byte{byte(n)}, anybodys)
		}
		require.True(t, forged, text)
		_, err = build(oncehook.Source{Name: "s", Principals: []oncehook.Principal{{Name: "p", Tenants: []string{"t"}, Credentials: []oncehook.Credential{
			{Version: "1", Secret: oncehook.Secret("whpk_" + base64.StdEncoding.EncodeToString(public))},
		}}}})
		require.ErrorContains(t, err, "anybody", text)
	}
}

func TestSignaturesOfOneHeaderAreBounded(t *testing.T) {
	s := subject()
	r := s.Genuine(t, "many-1", 1)
	value := r.Header.Get("Webhook-Signature")
	for n, want := range map[int]error{15: nil, 16: &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}} {
		r.Header.Set("Webhook-Signature", strings.Repeat("v1a,x ", n)+value)
		_, err := s.Provider(t).Verify(r)
		require.Equal(t, want, err)
	}
}

func TestWhatCannotSignIsRefused(t *testing.T) {
	signer := subject().Provider(t).(oncehook.Signer)
	draft := oncehook.Draft{ID: "msg_1", Now: providertest.Received}
	for _, c := range []struct{ id, secret string }{
		{"msg.1", string(secret(1))},
		{"", string(secret(1))},
		{"msg 1", string(secret(1))},
		{"msg_1", "whpk_1SiA4o9hyqTCpIqC5V9HUakiiaeACeqfZTInDBbOir4="},
		{"msg_1", "whsk_AAAA"},
		{"msg_1", "whsk_" + base64.StdEncoding.EncodeToString(make([]byte, 64))},
		{"msg_1", "nonsense"},
	} {
		draft.ID = c.id
		_, err := signer.Sign(nil, draft, oncehook.Credential{Version: "1", Secret: oncehook.Secret(c.secret)})
		require.Error(t, err)
		require.NotContains(t, err.Error(), c.secret)
	}
}
