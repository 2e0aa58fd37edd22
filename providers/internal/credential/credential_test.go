package credential_test

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/credential"
)

func source(fields oncehook.Fields) oncehook.Source {
	return oncehook.Source{Name: "s", Fields: fields, Principals: []oncehook.Principal{
		{Name: "p", Tenants: []string{"t"}, Credentials: []oncehook.Credential{
			{Version: "1", Secret: oncehook.Secret("old"), Expires: time.Unix(100, 0)}, {Version: "2", Secret: oncehook.Secret("new")},
		}},
	}}
}

func parse(s oncehook.Secret) (string, error) { return string(s), nil }

func TestEveryCredentialIsTriedAndALiveOneWins(t *testing.T) {
	all, err := credential.List(source(oncehook.Fields{}), parse)
	require.NoError(t, err)
	var tried []string
	proof, err := credential.Prove(all, time.Unix(100, 0), func(key string) bool {
		tried = append(tried, key)
		return true
	})
	require.NoError(t, err)
	require.Equal(t, oncehook.Proof{Principal: "p", CredentialVersion: "2", Tenants: []string{"t"}}, proof)
	require.Equal(t, []string{"old", "new"}, tried)

	proof, err = credential.Prove(all, time.Unix(99, 0), func(string) bool { return true })
	require.NoError(t, err)
	require.Equal(t, "1", proof.CredentialVersion, "the first of several")
	proof.Tenants[0] = "changed"
	proof, err = credential.Prove(all, time.Unix(99, 0), func(string) bool { return true })
	require.NoError(t, err)
	require.Equal(t, []string{"t"}, proof.Tenants)
}

func TestAFailureTellsWhetherASecretOnlyExpired(t *testing.T) {
	all, err := credential.List(source(oncehook.Fields{}), parse)
	require.NoError(t, err)
	_, err = credential.Prove(all, time.Unix(100, 0), func(key string) bool { return key == "old" })
	require.Equal(t, &oncehook.AuthError{Cause: oncehook.CauseCredentialExpired}, err)
	_, err = credential.Prove(all, time.Unix(100, 0), func(string) bool { return false })
	require.Equal(t, &oncehook.AuthError{Cause: oncehook.CauseWrongSecret}, err)
}

func TestASourceIsRefusedByName(t *testing.T) {
	_, err := credential.List(source(oncehook.Fields{}), func(oncehook.Secret) (string, error) { return "", errors.New("is malformed") })
	require.EqualError(t, err, `source "s": principal "p": the secret of version "1" is malformed`)
	_, err = credential.List(oncehook.Source{Name: "s"}, parse)
	require.EqualError(t, err, `source "s": has no credential`)
	for _, fields := range []oncehook.Fields{{Required: []string{"x"}}, {Subject: "x"}} {
		require.ErrorContains(t, credential.NoFields(source(fields)), "remove them")
	}
	require.NoError(t, credential.NoFields(source(oncehook.Fields{})))
}

func TestAHeaderIsGivenOnce(t *testing.T) {
	for _, c := range []struct {
		values []string
		cause  oncehook.Cause
	}{
		{nil, oncehook.CauseCredentialMissing},
		{[]string{""}, oncehook.CauseCredentialMissing},
		{[]string{"", ""}, oncehook.CauseCredentialMalformed},
		{[]string{"a", "a"}, oncehook.CauseCredentialMalformed},
	} {
		_, err := credential.Header(c.values)
		require.Equal(t, &oncehook.AuthError{Cause: c.cause}, err)
	}
	value, err := credential.Header([]string{"a"})
	require.NoError(t, err)
	require.Equal(t, "a", value)
}
