// Package github is GitHub's contract: a signature over the raw body proves the
// webhook's secret, and the body is one event, as JSON or in a form.
package github

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/credential"
	"github.com/oncehook/oncehook/providers/internal/refuse"
)

// Kind is the provider kind in configurations and in the catalog.
const Kind = "github"

// Headers of a delivery. The SHA-1 signature beside the other is never read.
const (
	headerSignature = "X-Hub-Signature-256"
	headerSHA1      = "X-Hub-Signature"
	headerDelivery  = "X-Github-Delivery"
	headerEvent     = "X-Github-Event"
)

// Media types of deliveries: the choice is made per webhook.
const (
	mediaJSON = "application/json"
	mediaForm = "application/x-www-form-urlencoded"
)

// ackBudget is GitHub's documented timeout.
const ackBudget = 10 * time.Second

// typePing is sent when a webhook is made, whatever it is subscribed to.
const typePing = "ping"

// Provider authenticates and reads the requests of one source.
type Provider struct {
	credentials []credential.Credential[[]byte]
}

// New makes the provider of a source. It refuses secrets that GitHub's form cannot
// have meant.
func New(src oncehook.Source) (*Provider, error) {
	if err := credential.NoFields(src); err != nil {
		return nil, err
	}
	credentials, err := credential.List(src, parseSecret)
	if err != nil {
		return nil, err
	}
	return &Provider{credentials}, nil
}

// minSecret is the least length of a secret. GitHub takes any text.
const minSecret = 8

func parseSecret(secret oncehook.Secret) ([]byte, error) {
	text := string(secret)
	switch {
	case len(text) < minSecret:
		return nil, errors.New("is shorter than 8 bytes")
	case strings.HasPrefix(text, "ghp_"), strings.HasPrefix(text, "github_pat_"), strings.HasPrefix(text, "gho_"), strings.HasPrefix(text, "ghs_"):
		return nil, errors.New("is an access token: write the webhook's secret, and revoke this token, which others may have read here")
	case strings.ContainsAny(text, "\r\n\x00"), strings.TrimSpace(text) != text:
		return nil, errors.New("begins or ends with white space, or holds a line end")
	}
	return slices.Clone([]byte(secret)), nil
}

// AuthScheme is the scheme that a 401 names.
func (*Provider) AuthScheme() string { return "Signature" }

// AckBudget is how long GitHub waits for the answer.
func (*Provider) AckBudget() time.Duration { return ackBudget }

// Acknowledges reports whether a refusal is answered 2xx. GitHub does not retry by
// itself, but shows any other answer as a failed delivery, which invites people to
// redeliver what cannot succeed.
func (*Provider) Acknowledges(code oncehook.Code) bool { return refuse.NoRetryMends(code) }

// TakesContentType reports whether a media type is one of the two.
func (*Provider) TakesContentType(mediaType string) bool {
	return mediaType == mediaJSON || mediaType == mediaForm
}

// RecognizesType reports whether a type is recorded whatever the source lists.
func (*Provider) RecognizesType(eventType string) bool { return eventType == typePing }

// Verify finds the credential whose signature covers the raw body. There is no signed
// time: an old delivery is as good as a new one, and its GUID makes it a duplicate.
func (p *Provider) Verify(r oncehook.Request) (oncehook.Proof, error) {
	signature, err := readHeader(r)
	if err != nil {
		return oncehook.Proof{}, err
	}
	return credential.Prove(p.credentials, r.Received, func(secret []byte) bool {
		return hmac.Equal([]byte(sign(secret, r.Body)), []byte(signature))
	})
}

// VerifyHeader refuses what no body can make right: a signature that is missing or malformed.
func (*Provider) VerifyHeader(r oncehook.Request) error {
	_, err := readHeader(r)
	return err
}

const prefixSignature = "sha256="

// readHeader returns the header's value, which is sha256= and lower-case hex.
func readHeader(r oncehook.Request) (string, error) {
	values := r.Header.Values(headerSignature)
	if len(values) == 0 && r.Header.Get(headerSHA1) != "" {
		return "", &oncehook.AuthError{Cause: oncehook.CauseSchemeUnsupported}
	}
	text, err := credential.Header(values)
	if err != nil {
		return "", err
	}
	digest, ok := strings.CutPrefix(text, prefixSignature)
	if !ok || !credential.IsHexSHA256(digest) {
		return "", &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}
	}
	return text, nil
}

func sign(secret, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write(body)
	return prefixSignature + hex.EncodeToString(mac.Sum(nil))
}
