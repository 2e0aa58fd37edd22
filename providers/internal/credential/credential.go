// Package credential finds, among the credentials of a source, the one that a request proves.
package credential

import (
	"fmt"
	"slices"
	"time"

	"github.com/oncehook/oncehook"
)

// Credential is one secret of a source in the form that its provider checks with.
type Credential[K any] struct {
	Key       K
	principal string
	version   string
	tenants   []string
	expires   time.Time
}

// List parses every secret of the source. An error names the credential, and says
// what parse says, which must not repeat the secret. A source without credentials
// is refused, as is one in which two credentials have one secret: it proves neither.
func List[K any](src oncehook.Source, parse func(oncehook.Secret) (K, error)) ([]Credential[K], error) {
	var all []Credential[K]
	owners := map[string]string{}
	for _, p := range src.Principals {
		for _, c := range p.Credentials {
			key, err := parse(c.Secret)
			if err != nil {
				return nil, fmt.Errorf("source %q: principal %q: the secret of version %q %w", src.Name, p.Name, c.Version, err)
			}
			if owner := owners[string(c.Secret)]; owner != "" {
				return nil, fmt.Errorf("source %q: principal %q: the secret of version %q is also that of %s: give each its own", src.Name, p.Name, c.Version, owner)
			}
			owners[string(c.Secret)] = fmt.Sprintf("principal %q, version %q", p.Name, c.Version)
			all = append(all, Credential[K]{key, p.Name, c.Version, slices.Clone(p.Tenants), c.Expires})
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("source %q: has no credential", src.Name)
	}
	return all, nil
}

// NoFields refuses a source with fields, for providers whose own contract says what
// is read.
func NoFields(src oncehook.Source) error {
	if len(src.Fields.Required) > 0 || src.Fields.Subject != "" {
		return fmt.Errorf("source %q: has fields, but its provider knows which fields it reads: remove them", src.Name)
	}
	return nil
}

// Prove returns the proof of the live credential that matches. It tries all of them,
// so that the time does not tell which one did.
func Prove[K any](all []Credential[K], received time.Time, matches func(K) bool) (oncehook.Proof, error) {
	live, expired := -1, false
	for n := range all {
		c := &all[n]
		if !matches(c.Key) {
			continue
		}
		if !c.expires.IsZero() && !received.Before(c.expires) {
			expired = true
			continue
		}
		if live < 0 {
			live = n
		}
	}
	switch {
	case live >= 0:
		c := &all[live]
		return oncehook.Proof{Principal: c.principal, CredentialVersion: c.version, Tenants: slices.Clone(c.tenants)}, nil
	case expired:
		return oncehook.Proof{}, &oncehook.AuthError{Cause: oncehook.CauseCredentialExpired}
	}
	return oncehook.Proof{}, &oncehook.AuthError{Cause: oncehook.CauseWrongSecret}
}

// Header returns the one value of a header that a proof rests on. A header given
// twice is malformed: which line counts would be a guess.
func Header(values []string) (string, error) {
	switch {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", &oncehook.AuthError{Cause: oncehook.CauseCredentialMissing}
	case len(values) > 1:
		return "", &oncehook.AuthError{Cause: oncehook.CauseCredentialMalformed}
	}
	return values[0], nil
}
