package providers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers"
)

// secretFor returns a well-formed secret: those of whsec_ suit both kinds that have them.
func secretFor(kind string) string {
	if kind == "bearer" || kind == "github" {
		return "0123456789abcdef"
	}
	return "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
}

func TestEveryKindIsMadeByItsName(t *testing.T) {
	require.Equal(t, []string{"bearer", "github", "standard-webhooks", "stripe"}, providers.Kinds())
	for _, kind := range providers.Kinds() {
		p, err := providers.New(kind, oncehook.Source{Name: "s", Principals: []oncehook.Principal{
			{Name: "p", Tenants: []string{"t"}, Credentials: []oncehook.Credential{{Version: "1", Secret: oncehook.Secret(secretFor(kind))}}},
		}})
		require.NoError(t, err)
		require.NotNil(t, p)
	}
	_, err := providers.New("carrier-pigeon", oncehook.Source{Name: "s"})
	require.EqualError(t, err, `source "s": unknown provider "carrier-pigeon"; known are bearer, github, standard-webhooks, stripe`)
}
