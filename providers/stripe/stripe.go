// Package stripe is Stripe's contract: a signature over time and body proves the
// endpoint's secret, and the body is one event, as a snapshot or thin.
package stripe

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
	"github.com/oncehook/oncehook/providers/internal/signedtime"
)

// Kind is the provider kind in configurations and in the catalog.
const Kind = "stripe"

const headerSignature = "Stripe-Signature"

// ackBudget is our own: Stripe asks for a quick answer and names no time.
const ackBudget = 10 * time.Second

// Provider authenticates and reads the requests of one source.
type Provider struct {
	credentials []credential.Credential[[]byte]
}

// New makes the provider of a source. It refuses secrets that are no endpoint's.
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

const (
	prefixSecret = "whsec_"
	// minSecret is the least length after the prefix. Stripe's have 32 or 64 characters.
	minSecret = 10
)

// parseSecret returns the key: the text as it is, prefix included, unlike Standard Webhooks.
func parseSecret(secret oncehook.Secret) ([]byte, error) {
	after, ok := strings.CutPrefix(string(secret), prefixSecret)
	switch {
	case strings.HasPrefix(string(secret), "sk_"), strings.HasPrefix(string(secret), "rk_"):
		return nil, errors.New("is an API key: write the endpoint's signing secret (whsec_), and replace this key, which others may have read here")
	case !ok:
		return nil, errors.New("does not begin with whsec_")
	case len(after) < minSecret:
		return nil, errors.New("is too short after whsec_")
	case !credential.IsVisible(after):
		return nil, errors.New("holds a character other than visible ASCII")
	}
	return slices.Clone([]byte(secret)), nil
}

// AuthScheme is the scheme that a 401 names.
func (*Provider) AuthScheme() string { return "Signature" }

// AckBudget is how long we let Stripe wait for the answer.
func (*Provider) AckBudget() time.Duration { return ackBudget }

// Acknowledges reports whether a refusal is answered 2xx: Stripe retries any other
// answer for three days, and then disables the endpoint.
func (*Provider) Acknowledges(code oncehook.Code) bool { return refuse.NoRetryMends(code) }

// Verify finds the credential under which one of the signatures covers the request.
func (p *Provider) Verify(r oncehook.Request) (oncehook.Proof, error) {
	h, err := readHeader(r)
	if err != nil {
		return oncehook.Proof{}, err
	}
	return credential.Prove(p.credentials, r.Received, func(secret []byte) bool {
		sum, ok := []byte(signature(secret, h.timestamp, r.Body)), false
		for _, s := range h.signatures {
			ok = hmac.Equal(sum, []byte(s)) || ok
		}
		return ok
	})
}

// VerifyHeader refuses what no body can make right: a header that is missing or
// malformed, and a time outside the window.
func (p *Provider) VerifyHeader(r oncehook.Request) error {
	_, err := readHeader(r)
	return err
}

// Items of the header.
const (
	itemTime      = "t"
	itemSignature = "v1"
)

// maxItems bounds the header. Stripe writes the time and one entry per live secret.
const maxItems = 32

type header struct {
	timestamp  string
	signatures []string
}

// readHeader reads t=…,v1=…[,v1=…][,v0=…]. Other schemes are passed over, v0 among
// them, which Stripe adds to test deliveries and which proves nothing.
func readHeader(r oncehook.Request) (header, error) {
	var h header
	text, err := credential.Header(r.Header.Values(headerSignature))
	if err != nil {
		return h, err
	}
	malformed := &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}
	items := strings.Split(text, ",")
	if len(items) > maxItems {
		return h, malformed
	}
	times, others, known := 0, 0, 0
	for _, item := range items {
		name, value, ok := strings.Cut(item, "=")
		switch {
		case !ok:
			return h, malformed
		case name == itemTime:
			h.timestamp = value
			times++
		case name == itemSignature:
			known++
			// An entry of another form cannot match, and must not hide one that does.
			if credential.IsHexSHA256(value) {
				h.signatures = append(h.signatures, value)
			}
		default:
			others++
		}
	}
	if times != 1 {
		return h, malformed
	}
	if err := signedtime.Check(h.timestamp, r.Received); err != nil {
		return h, err
	}
	switch {
	case known == 0 && others > 0:
		return h, &oncehook.AuthError{Cause: oncehook.CauseSchemeUnsupported}
	case len(h.signatures) == 0:
		return h, malformed
	}
	return h, nil
}

// signature is HMAC-SHA256 over time, a dot and the body, in hex.
func signature(secret []byte, timestamp string, body []byte) string {
	mac := hmac.New(sha256.New, secret)
	mac.Write([]byte(timestamp + "."))
	mac.Write(body)
	return hex.EncodeToString(mac.Sum(nil))
}
