// Package providers is the list of the senders' contracts that oncehook speaks.
package providers

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/bearer"
	"github.com/oncehook/oncehook/providers/github"
	"github.com/oncehook/oncehook/providers/standardwebhooks"
	"github.com/oncehook/oncehook/providers/stripe"
)

// constructor makes a provider for one source.
type constructor struct {
	kind string
	make func(oncehook.Source) (oncehook.Provider, error)
}

// all is the one list; a new provider is one line here.
func all() []constructor {
	return []constructor{
		{bearer.Kind, func(s oncehook.Source) (oncehook.Provider, error) { return bearer.New(s) }},
		{github.Kind, func(s oncehook.Source) (oncehook.Provider, error) { return github.New(s) }},
		{standardwebhooks.Kind, func(s oncehook.Source) (oncehook.Provider, error) { return standardwebhooks.New(s) }},
		{stripe.Kind, func(s oncehook.Source) (oncehook.Provider, error) { return stripe.New(s) }},
	}
}

// Kinds returns the provider kinds, sorted.
func Kinds() []string {
	var kinds []string
	for _, c := range all() {
		kinds = append(kinds, c.kind)
	}
	slices.Sort(kinds)
	return kinds
}

// New makes the provider of a source. It refuses an unknown kind and whatever the kind refuses.
func New(kind string, src oncehook.Source) (oncehook.Provider, error) {
	for _, c := range all() {
		if c.kind == kind {
			return c.make(src)
		}
	}
	return nil, fmt.Errorf("source %q: unknown provider %q; known are %s", src.Name, kind, strings.Join(Kinds(), ", "))
}
