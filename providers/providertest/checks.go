package providertest

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// Marker is in every hostile body and header; no error may repeat it.
const Marker = "hostile-marker"

func (s Subject) mustNotProve(t *testing.T, r oncehook.Request) {
	t.Helper()
	proof, err := s.Provider(t).Verify(r)
	require.Error(t, err, "an unproven request was authenticated")
	require.Zero(t, proof)
	s.checkAuthError(t, err, r)
}

func (s Subject) checkAuthError(t *testing.T, err error, r oncehook.Request) {
	t.Helper()
	authErr, ok := errors.AsType[*oncehook.AuthError](err)
	require.True(t, ok, "a failed Verify is an *AuthError, not %T", err)
	require.NotEmpty(t, authErr.Cause)
	s.checkSilent(t, err, r)
}

func (s Subject) checkRefusal(t *testing.T, err error, r oncehook.Request) {
	t.Helper()
	refusal, ok := errors.AsType[*oncehook.Refusal](err)
	require.True(t, ok, "a refused request is a *Refusal, not %T", err)
	require.GreaterOrEqual(t, refusal.Code.Status(), 400)
	require.Less(t, refusal.Code.Status(), 500)
	require.NotEmpty(t, refusal.Detail)
	s.checkSilent(t, err, r)
}

// checkSilent requires that an error holds no secret and no part of the request.
func (s Subject) checkSilent(t *testing.T, err error, r oncehook.Request) {
	t.Helper()
	text := err.Error()
	require.True(t, utf8.ValidString(text))
	require.NotContains(t, text, Marker)
	s.checkNoSecret(t, text)
	for _, values := range r.Header {
		for _, v := range values {
			if len(v) >= 8 {
				require.NotContains(t, text, v)
			}
		}
	}
}

func (s Subject) checkNoSecret(t *testing.T, text string) {
	t.Helper()
	for _, n := range []int{0, 1, 2, 7} {
		require.NotContains(t, text, string(s.Secret(n)))
		require.NotContains(t, text, string(s.signing(n)))
	}
}

func (s Subject) checkEvent(t *testing.T, e oncehook.Event) {
	t.Helper()
	require.NotEmpty(t, e.ID)
	require.LessOrEqual(t, len(e.ID), oncehook.MaxEventID)
	require.NotEmpty(t, e.Type)
	require.NotEmpty(t, e.Body)
	for _, text := range []string{e.ID, e.Tenant, e.Type, e.Subject, e.Sequence} {
		require.True(t, utf8.ValidString(text))
		require.NotContains(t, text, "\x00", "a text column cannot hold U+0000")
	}
	require.True(t, json.Valid(e.Compared))
	require.True(t, strings.HasPrefix(string(e.Compared), "{"))
}

func equal(a, b oncehook.Proof) bool { return reflect.DeepEqual(a, b) }

func equalItems(a, b []oncehook.Item) bool { return reflect.DeepEqual(a, b) }

// alterations returns texts near the given one: cut, extended, and with single bytes changed.
func alterations(text string) []string {
	out := []string{"", text + " ", " " + text, text + "A", text + text, strings.ToUpper(text), strings.ToLower(text), text + "\xff", text + "é"}
	step := max(1, len(text)/64)
	for n := 0; n < len(text); n += step {
		changed := []byte(text)
		changed[n] ^= 1
		out = append(out, string(changed), text[:n], text[:n]+text[n+1:])
	}
	return out
}

// HostileHeaders returns header values that have broken receivers.
func HostileHeaders() []string {
	return []string{
		"", " ", "\xff" + Marker, "é" + Marker, strings.Repeat("z", 64), strings.Repeat("A", 10_000) + Marker, "Bearer", "Bearer ", "Bearer  ", "bearer\t" + Marker,
		"Basic " + Marker, "v1,", "t=,v1=", "sha256=", "sha256=\xff", "sha256=" + strings.Repeat("z", 64), ",,,,", "====", "=" + Marker, "\x00" + Marker, Marker + "\x7f",
	}
}

// HostileBodies returns bodies that have broken receivers.
func HostileBodies() []string {
	deep := 10_000
	return []string{
		"", " ", "null", "[]", "[[]]", "{}", `"` + Marker + `"`, "123", "true", "\x00", "\xff\xfe", "\ufeff{}", "{", "}", "{}{}",
		`{"id":"` + Marker + `"`, `{"` + Marker + `":1}`, `{"id":` + Marker + `}`, `{"id":null,"type":null}`, `{"id":"","type":"","tenant":""}`,
		`{"id":12345678901234567890,"type":1,"tenant":2}`, `{"id":"` + Marker + `\u0000","type":"t"}`, `{"id":"` + Marker + `\ud800","type":"t"}`,
		`{"id":"a","id":"` + Marker + `","type":"t"}`, `{"ID":"` + Marker + `","id":"a","type":"t"}`, `{"id":"` + strings.Repeat(Marker, 1000) + `","type":"t"}`,
		"{\"id\":\"" + Marker + "\xff\",\"type\":\"t\"}", `{"id":{"` + Marker + `":1},"type":["` + Marker + `"]}`,
		strings.Repeat("[", deep) + strings.Repeat("]", deep), strings.Repeat(`{"a":`, deep) + "1" + strings.Repeat("}", deep),
		`{"id":"a","type":"t","occurred_at":"` + Marker + `"}`, `{"id":"a","type":"t","occurred_at":1e400}`, "a=1&b=" + Marker, "<xml>" + Marker + "</xml>",
	}
}
