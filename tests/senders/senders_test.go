package senders_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers"
	"github.com/oncehook/oncehook/tests/harness"
)

// sender is a provider whose SDK sends.
type sender struct{ kind, source, secret, foreign, eventType string }

// foreignSecret has the form of a secret, and is nobody's here.
const foreignSecret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// The three are constants but for their type.
//
//nolint:gochecknoglobals // cases
var (
	stripe           = sender{"stripe", "stripe", harness.StripeSecret, foreignSecret, "invoice.paid"}
	github           = sender{"github", "github", harness.GitHubSecret, "another-secret-of-theirs", "pull_request.opened"}
	standardWebhooks = sender{"standard-webhooks", "webhooks", harness.WebhooksSecret, foreignSecret, "user.created"}
)

func (s sender) signer(t *testing.T) oncehook.Signer {
	t.Helper()
	p, err := providers.New(s.kind, oncehook.Source{Name: s.source, Principals: []oncehook.Principal{
		{Name: "p", Tenants: []string{oncehook.AllTenants}, Credentials: []oncehook.Credential{s.credential()}},
	}})
	require.NoError(t, err)
	return p.(oncehook.Signer)
}

func (s sender) credential() oncehook.Credential {
	return oncehook.Credential{Version: "1", Secret: oncehook.Secret(s.secret)}
}

// delivery is the example event of the type, which the SDK signs and POSTs.
func (s sender) delivery(t *testing.T, serve *harness.Process, id string) command {
	t.Helper()
	body, err := s.signer(t).Compose(oncehook.Draft{ID: id, Type: s.eventType})
	require.NoError(t, err)
	event, _, _ := strings.Cut(s.eventType, ".")
	return command{Do: "post", Kind: s.kind, Secret: s.secret, URL: serve.IngressURL + "/hooks/" + s.source, ID: id, Event: event, Body: string(body)}
}

func TestWhatTheOfficialSDKsSignIsAcceptedOnce(t *testing.T) {
	system := harness.New(t, harness.Options{})
	serve := system.Serve()
	for _, s := range []sender{stripe, github, standardWebhooks} {
		t.Run(s.kind, func(t *testing.T) {
			sent, tampered, foreign := s.delivery(t, serve, "sdk-1"), s.delivery(t, serve, "sdk-2"), s.delivery(t, serve, "sdk-3")
			tampered.Sent = strings.Replace(tampered.Body, "demo", "demO", 1)
			require.NotEqual(t, tampered.Body, tampered.Sent)
			foreign.Secret = s.foreign
			results := run(t, sent, sent, tampered, foreign)

			first, again := results[0], results[1]
			require.Equal(t, http.StatusAccepted, first.Status, first.Body)
			require.Equal(t, "accepted", first.Result.Status)
			require.True(t, strings.HasSuffix(first.Result.EventKey, ":sdk-1"), first.Body)
			require.Equal(t, http.StatusOK, again.Status, again.Body)
			require.Equal(t, "duplicate", again.Result.Status)
			require.Equal(t, first.Result.EventKey, again.Result.EventKey)
			for _, refused := range results[2:] {
				require.Equal(t, http.StatusUnauthorized, refused.Status, refused.Body)
				require.Equal(t, string(oncehook.CodeUnauthenticated), refused.Result.Code)
			}
		})
	}
	require.Equal(t, 3, system.Count(`SELECT count(*) FROM oncehook.event_keys`))
	require.Equal(t, 3, system.Count(`SELECT count(*) FROM oncehook.audit WHERE outcome = 'accepted' AND credential_version = '1'`))
}

func TestARecordedDeliveryOfAnSDKIsRefusedOnceItIsOld(t *testing.T) {
	serve := harness.New(t, harness.Options{}).Serve()
	var sent []command
	for _, s := range []sender{stripe, standardWebhooks} {
		for _, shift := range []time.Duration{-6 * time.Minute, 6 * time.Minute} {
			c := s.delivery(t, serve, "sdk-1")
			c.Timestamp = time.Now().Add(shift).Unix()
			sent = append(sent, c)
		}
	}
	for n, result := range run(t, sent...) {
		require.Equal(t, http.StatusUnauthorized, result.Status, "%s at %d", sent[n].Kind, sent[n].Timestamp)
	}
}

func TestGitHubsFormIsTheSameEventAsItsJSON(t *testing.T) {
	serve := harness.New(t, harness.Options{}).Serve()
	sent := github.delivery(t, serve, "72d3162e-cc78-11e3-81ab-4c9367dc0958")
	asForm := sent
	asForm.Body, asForm.ContentType = "payload="+url.QueryEscape(sent.Body), "application/x-www-form-urlencoded"
	results := run(t, asForm, sent)
	first, again := results[0], results[1]
	require.Equal(t, http.StatusAccepted, first.Status, first.Body)
	require.Equal(t, http.StatusOK, again.Status, again.Body)
	require.Equal(t, first.Result.EventKey, again.Result.EventKey)
}

func TestTheOfficialSDKsAcceptWhatSendSigns(t *testing.T) {
	var signed []command
	for _, s := range []sender{stripe, github, standardWebhooks} {
		draft := oncehook.Draft{ID: "send-1", Type: s.eventType, Now: time.Now()}
		body, err := s.signer(t).Compose(draft)
		require.NoError(t, err)
		header, err := s.signer(t).Sign(body, draft, s.credential())
		require.NoError(t, err)
		headers := map[string]string{}
		for name := range header {
			headers[name] = header.Get(name)
		}
		signed = append(signed, command{Do: "verify", Kind: s.kind, Secret: s.secret, Body: string(body), Headers: headers})
	}
	for n, result := range run(t, signed...) {
		require.True(t, result.Verified, signed[n].Kind)
	}
}
