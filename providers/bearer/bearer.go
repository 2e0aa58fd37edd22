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
	"time"

	"github.com/oncehook/oncehook"
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
	credentials []credential
	// required is sorted, so that the compared bytes do not depend on the configuration's order.
	required []string
	subject  string
}

type credential struct {
	hash      [sha256.Size]byte
	principal string
	version   string
	tenants   []string
	expires   time.Time
}

// New makes the provider of a source. It refuses a source without credentials, a
// token that a header cannot carry, and field names that clash with the contract's.
func New(src oncehook.Source) (*Provider, error) {
	p := &Provider{required: slices.Sorted(slices.Values(src.Fields.Required)), subject: src.Fields.Subject}
	for _, principal := range src.Principals {
		for _, c := range principal.Credentials {
			if !isToken(c.Secret) {
				return nil, fmt.Errorf("source %q: principal %q: the token of version %q is empty or holds a character other than visible ASCII", src.Name, principal.Name, c.Version)
			}
			p.credentials = append(p.credentials, credential{
				hash: sha256.Sum256(c.Secret), principal: principal.Name, version: c.Version,
				tenants: slices.Clone(principal.Tenants), expires: c.Expires,
			})
		}
	}
	if len(p.credentials) == 0 {
		return nil, fmt.Errorf("source %q: has no credential", src.Name)
	}
	return p, p.checkFields(src.Name)
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

func isToken(secret []byte) bool {
	return len(secret) > 0 && !slices.ContainsFunc(secret, func(c byte) bool { return c <= ' ' || c > '~' })
}

// AuthScheme is the scheme that a 401 names.
func (*Provider) AuthScheme() string { return "Bearer" }

// Verify finds the principal of the request's token. It compares hashes, with
// every credential, so that the time tells nothing about tokens.
func (p *Provider) Verify(r oncehook.Request) (oncehook.Proof, error) {
	token, err := bearerToken(r.Header.Values("Authorization"))
	if err != nil {
		return oncehook.Proof{}, err
	}
	sum := sha256.Sum256([]byte(token))
	found := -1
	for n := range p.credentials {
		found = subtle.ConstantTimeSelect(subtle.ConstantTimeCompare(sum[:], p.credentials[n].hash[:]), n, found)
	}
	if found < 0 {
		return oncehook.Proof{}, &oncehook.AuthError{Cause: oncehook.CauseWrongSecret}
	}
	c := &p.credentials[found]
	if !c.expires.IsZero() && !r.Received.Before(c.expires) {
		return oncehook.Proof{}, &oncehook.AuthError{Cause: oncehook.CauseCredentialExpired}
	}
	return oncehook.Proof{Principal: c.principal, CredentialVersion: c.version, Tenants: slices.Clone(c.tenants)}, nil
}

// VerifyHeader fails as Verify does: the body proves nothing here.
func (p *Provider) VerifyHeader(r oncehook.Request) error {
	_, err := p.Verify(r)
	return err
}

func bearerToken(values []string) (string, error) {
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return "", &oncehook.AuthError{Cause: oncehook.CauseCredentialMissing}
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	token = strings.TrimLeft(token, " ")
	if len(values) > 1 || !strings.EqualFold(scheme, "Bearer") || !isToken([]byte(token)) {
		return "", &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}
	}
	return token, nil
}

// Sign returns the headers of a request that proves the credential.
func (*Provider) Sign(_ []byte, _ oncehook.Draft, c oncehook.Credential) (http.Header, error) {
	if !isToken(c.Secret) {
		return nil, errors.New("the token is empty or holds a character other than visible ASCII")
	}
	return http.Header{
		"Authorization": {"Bearer " + string(c.Secret)},
		"Content-Type":  {"application/json"},
	}, nil
}
