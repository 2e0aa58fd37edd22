package providers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers"
)

func TestEveryKindIsMadeByItsName(t *testing.T) {
	require.Equal(t, []string{"bearer"}, providers.Kinds())
	for _, kind := range providers.Kinds() {
		p, err := providers.New(kind, oncehook.Source{Name: "s", Principals: []oncehook.Principal{
			{Name: "p", Tenants: []string{"t"}, Credentials: []oncehook.Credential{{Version: "1", Secret: oncehook.Secret("0123456789abcdef")}}},
		}})
		require.NoError(t, err)
		require.NotNil(t, p)
	}
	_, err := providers.New("carrier-pigeon", oncehook.Source{Name: "s"})
	require.EqualError(t, err, `source "s": unknown provider "carrier-pigeon"; known are bearer`)
}
