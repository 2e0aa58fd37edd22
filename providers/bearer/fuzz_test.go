package bearer_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/providertest"
)

func FuzzEvents(f *testing.F) {
	f.Add([]byte(sound))
	for _, body := range providertest.HostileBodies() {
		if len(body) < 4096 {
			f.Add([]byte(body))
		}
	}
	p := provider(f)
	f.Fuzz(func(t *testing.T, body []byte) {
		kept := string(body)
		items, err := p.Events(request(nil, kept), oncehook.Proof{})
		if err != nil {
			refusal, ok := errors.AsType[*oncehook.Refusal](err)
			require.True(t, ok)
			require.GreaterOrEqual(t, refusal.Code.Status(), 400)
			require.Less(t, refusal.Code.Status(), 500)
			return
		}
		require.Len(t, items, 1)
		e := items[0].Event
		require.True(t, json.Valid([]byte(kept)), "the standard library finds no JSON in what was accepted")
		require.Equal(t, kept, string(e.Body))
		require.True(t, json.Valid(e.Compared))
		require.NotEmpty(t, e.ID)
		require.NotEmpty(t, e.Type)
		for _, text := range []string{e.ID, e.Tenant, e.Type, e.Subject} {
			require.True(t, utf8.ValidString(text))
			require.False(t, strings.ContainsRune(text, 0))
		}
		var decoded map[string]any
		if json.Unmarshal([]byte(kept), &decoded) == nil {
			require.Equal(t, decoded["id"], e.ID)
			require.Equal(t, decoded["type"], e.Type)
		}
	})
}

func FuzzVerify(f *testing.F) {
	for _, header := range append(providertest.HostileHeaders(), "Bearer "+token) {
		f.Add(header)
	}
	p := provider(f)
	f.Fuzz(func(t *testing.T, header string) {
		_, err := p.Verify(request([]string{header}, ""))
		if err == nil {
			require.Contains(t, []string{token, next, other}, header[strings.LastIndexByte(header, ' ')+1:])
			return
		}
		_, ok := errors.AsType[*oncehook.AuthError](err)
		require.True(t, ok)
	})
}
