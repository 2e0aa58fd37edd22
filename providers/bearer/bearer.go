// Package bearer is the contract for senders of one's own: a static token in the
// Authorization header proves the principal, and a JSON object is one event.
package bearer

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/credential"
)

// Kind is the provider kind in configurations and in the catalog.
const Kind = "bearer"

// Members of the body that every source has.
const (
	fieldID         = "id"
	fieldTenant     = "tenant"
	fieldType       = "type"
	fieldOccurredAt = "occurred_at"
)

// Provider authenticates and reads the requests of one source.
type Provider struct {
	credentials []credential.Credential[tokenHash]
	// required is sorted, so that the compared bytes do not depend on the configuration's order.
	required []string
	subject  string
}

// tokenHash stands for a token: hashes have one length, so that comparing them tells nothing.
type tokenHash [sha256.Size]byte

// New makes the provider of a source. It refuses a source without credentials, a
// token that a header cannot carry, and field names that clash with the contract's.
func New(src oncehook.Source) (*Provider, error) {
	credentials, err := credential.List(src, parseToken)
	if err != nil {
		return nil, err
	}
	p := &Provider{credentials: credentials, required: slices.Sorted(slices.Values(src.Fields.Required)), subject: src.Fields.Subject}
	return p, p.checkFields(src.Name)
}

func parseToken(secret oncehook.Secret) (tokenHash, error) {
	if !isToken(string(secret)) {
		return tokenHash{}, errors.New("is empty or holds a character other than visible ASCII")
	}
	return sha256.Sum256(secret), nil
}

func (p *Provider) checkFields(source string) error {
	names := []string{fieldID, fieldTenant, fieldType, fieldOccurredAt}
	for _, name := range p.required {
		if name == "" || slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) }) {
			return fmt.Errorf("source %q: the required field %q is empty, repeated, or read for itself", source, name)
		}
		names = append(names, name)
	}
	if p.subject != "" && !slices.Contains(p.required, p.subject) {
		return fmt.Errorf("source %q: the subject %q is not a required field", source, p.subject)
	}
	return nil
}

func isToken(text string) bool { return text != "" && credential.IsVisible(text) }

// AuthScheme is the scheme that a 401 names.
func (*Provider) AuthScheme() string { return "Bearer" }

// Verify finds the principal of the request's token.
func (p *Provider) Verify(r oncehook.Request) (oncehook.Proof, error) {
	token, err := bearerToken(r.Header.Values("Authorization"))
	if err != nil {
		return oncehook.Proof{}, err
	}
	sum := sha256.Sum256([]byte(token))
	return credential.Prove(p.credentials, r.Received, func(known tokenHash) bool {
		return subtle.ConstantTimeCompare(sum[:], known[:]) == 1
	})
}

// VerifyHeader fails as Verify does: the body proves nothing here.
func (p *Provider) VerifyHeader(r oncehook.Request) error {
	_, err := p.Verify(r)
	return err
}

func bearerToken(values []string) (string, error) {
	text, err := credential.Header(values)
	if err != nil {
		return "", err
	}
	scheme, token, _ := strings.Cut(text, " ")
	token = strings.TrimLeft(token, " ")
	if !strings.EqualFold(scheme, "Bearer") || !isToken(token) {
		return "", &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}
	}
	return token, nil
}

// Sign returns the headers of a request that proves the credential.
func (*Provider) Sign(_ []byte, _ oncehook.Draft, c oncehook.Credential) (http.Header, error) {
	if !isToken(string(c.Secret)) {
		return nil, errors.New("the token is empty or holds a character other than visible ASCII")
	}
	return http.Header{
		"Authorization": {"Bearer " + string(c.Secret)},
		"Content-Type":  {"application/json"},
	}, nil
}
