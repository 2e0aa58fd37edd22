package oncehook_test

import (
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/oncehook/oncehook"
)

// triple is what an event key is made of.
type triple struct{ source, tenant, id string }

func identity(t require.TestingT, secret string) oncehook.Identity {
	i, err := oncehook.NewIdentity(oncehook.Secret(secret + strings.Repeat("x", oncehook.MinIdentity)))
	require.NoError(t, err)
	return i
}

// part draws texts that are near each other under a careless escaping.
func part(limit int) *rapid.Generator[string] {
	near := rapid.StringOfN(rapid.RuneFrom([]rune("aA:~.k_-3é\x00/%0")), 1, limit, -1)
	return rapid.OneOf(near, rapid.StringN(1, limit, -1), rapid.StringMatching(`[A-Za-z0-9._-]{1,8}`))
}

func drawTriple() *rapid.Generator[triple] {
	return rapid.Custom(func(t *rapid.T) triple {
		id := rapid.OneOf(part(12), rapid.StringN(100, 250, oncehook.MaxEventID), rapid.StringMatching(`~k[a-z2-7]{52}`))
		return triple{part(10).Draw(t, "source"), part(20).Draw(t, "tenant"), id.Draw(t, "id")}
	})
}

var (
	keyForm       = regexp.MustCompile(`^[A-Za-z0-9._~-]+:[A-Za-z0-9._~-]+:[A-Za-z0-9._~-]+$`)
	escapedForm   = regexp.MustCompile(`^(?:[A-Za-z0-9._-]|~[0-9A-F]{2})+$`)
	hashedForm    = regexp.MustCompile(`^~k[a-z2-7]{52}$`)
	shortKeyForm  = regexp.MustCompile(`^oh_[a-z2-7]{52}$`)
	temporalLimit = 255
)

func TestNoTwoTriplesShareAnEventKey(t *testing.T) {
	i := identity(t, "one")
	rapid.Check(t, func(t *rapid.T) {
		a, personalA := drawTriple().Draw(t, "a"), rapid.Bool().Draw(t, "personal a")
		b, personalB := drawTriple().Draw(t, "b"), rapid.Bool().Draw(t, "personal b")
		// Near misses: a character moved from one part to the next, or doubled.
		switch rapid.IntRange(0, 3).Draw(t, "near") {
		case 0:
			b = triple{a.source + a.tenant[:1], a.tenant[1:] + "x", a.id}
		case 1:
			b = triple{a.source, a.tenant + ":" + a.id, a.id}
		case 2:
			b = triple{a.source, a.tenant, a.id + "~"}
		}
		keyA, errA := i.Key(a.source, a.tenant, a.id, personalA)
		keyB, errB := i.Key(b.source, b.tenant, b.id, personalB)
		if errA != nil || errB != nil {
			return
		}
		switch {
		case a != b:
			require.NotEqual(t, keyA, keyB)
		case personalA == personalB:
			require.Equal(t, keyA, keyB)
		}
	})
}

func TestAnEventKeyIsBoundedAndSafeToPrint(t *testing.T) {
	i := identity(t, "one")
	rapid.Check(t, func(t *rapid.T) {
		a := drawTriple().Draw(t, "triple")
		personal := rapid.Bool().Draw(t, "personal")
		key, err := i.Key(a.source, a.tenant, a.id, personal)
		if err != nil {
			var refusal *oncehook.Refusal
			require.ErrorAs(t, err, &refusal)
			require.NotEmpty(t, refusal.Field)
			return
		}
		require.LessOrEqual(t, len(key), oncehook.MaxKey)
		require.Regexp(t, keyForm, string(key))
		parts := strings.Split(string(key), ":")
		require.Len(t, parts, 3)
		require.Regexp(t, escapedForm, parts[0])
		require.Regexp(t, escapedForm, parts[1])
		require.LessOrEqual(t, len(parts[0]), oncehook.MaxSourceEscaped)
		require.LessOrEqual(t, len(parts[1]), oncehook.MaxTenantEscaped)
		require.Equal(t, parts[2], key.ID())
		if personal {
			require.Regexp(t, hashedForm, parts[2])
		} else if !hashedForm.MatchString(parts[2]) {
			require.Regexp(t, escapedForm, parts[2])
		}
		again, err := i.Key(a.source, a.tenant, a.id, personal)
		require.NoError(t, err)
		require.Equal(t, key, again)
	})
}

func TestAnyPartsGiveAKeyOrARefusalOfOneField(t *testing.T) {
	i := identity(t, "one")
	rapid.Check(t, func(t *rapid.T) {
		raw := func(name string, limit int) string {
			return string(rapid.SliceOfN(rapid.Byte(), 0, limit).Draw(t, name))
		}
		source, tenant, id := raw("source", 60), raw("tenant", 100), raw("id", 1100)
		key, err := i.Key(source, tenant, id, rapid.Bool().Draw(t, "personal"))
		for _, part := range []string{source, tenant, id} {
			if part == "" || !utf8.ValidString(part) {
				require.Error(t, err)
			}
		}
		if err == nil {
			require.Regexp(t, keyForm, string(key))
			return
		}
		var refusal *oncehook.Refusal
		require.ErrorAs(t, err, &refusal)
		require.Contains(t, []string{"source", "tenant", "id"}, refusal.Field)
	})
}

func TestAnIdempotencyKeyFitsIntoAWorkflowID(t *testing.T) {
	i := identity(t, "one")
	action := rapid.StringMatching(`[a-z0-9_.]{1,48}`)
	rapid.Check(t, func(t *rapid.T) {
		a := drawTriple().Draw(t, "triple")
		key, err := i.Key(a.source, a.tenant, a.id, false)
		if err != nil {
			return
		}
		name := action.Draw(t, "action")
		require.True(t, oncehook.ValidActionName(name))
		epoch := rapid.IntRange(1, 9999).Draw(t, "epoch")
		idempotency := key.IdempotencyKey(name, epoch)
		require.LessOrEqual(t, len(idempotency), temporalLimit)
		require.True(t, strings.HasPrefix(idempotency, string(key)+":"+name))
		require.Regexp(t, shortKeyForm, key.ShortIdempotencyKey(name, epoch))
		other, otherEpoch := action.Draw(t, "other action"), rapid.IntRange(1, 9999).Draw(t, "other epoch")
		if other != name || otherEpoch != epoch {
			require.NotEqual(t, idempotency, key.IdempotencyKey(other, otherEpoch))
			require.NotEqual(t, key.ShortIdempotencyKey(name, epoch), key.ShortIdempotencyKey(other, otherEpoch))
		}
	})
}

func TestEventKeysAreSpelledAsPublished(t *testing.T) {
	i := identity(t, "one")
	for _, test := range []struct {
		triple
		personal bool
		want     string
	}{
		{triple{"logistics", "logistics-sandbox", "event-demo-1042"}, false, "logistics:logistics-sandbox:event-demo-1042"},
		{triple{"a", "b", "A.b_c-9"}, false, "a:b:A.b_c-9"},
		{triple{"a", "b:c", "d/e"}, false, "a:b~3Ac:d~2Fe"},
		{triple{"a", "b", "~"}, false, "a:b:~7E"},
		{triple{"a", "b", "é\x00"}, false, "a:b:~C3~A9~00"},
		{triple{"a", "b", strings.Repeat("z", 196)}, false, "a:b:" + strings.Repeat("z", 196)},
	} {
		key, err := i.Key(test.source, test.tenant, test.id, test.personal)
		require.NoError(t, err)
		require.EqualValues(t, test.want, key)
	}
	for _, id := range []string{strings.Repeat("z", 197), strings.Repeat("é", 33), strings.Repeat("z", 1000)} {
		key, err := i.Key("a", "b", id, false)
		require.NoError(t, err)
		require.Regexp(t, hashedForm, key.ID())
	}
}

func TestAHashedIDDependsOnTheIdentityAndTheWholeTriple(t *testing.T) {
	one, two := identity(t, "one"), identity(t, "two")
	seen := map[string]bool{}
	for _, i := range []oncehook.Identity{one, two} {
		for _, x := range []triple{{"a", "b", "id"}, {"a", "c", "id"}, {"d", "b", "id"}, {"a", "b", "idx"}} {
			key, err := i.Key(x.source, x.tenant, x.id, true)
			require.NoError(t, err)
			require.NotContains(t, seen, key.ID())
			seen[key.ID()] = true
		}
	}
}

func TestPartsOutsideTheLimitsAreRefusedByField(t *testing.T) {
	i := identity(t, "one")
	for _, test := range []struct {
		triple
		code  oncehook.Code
		field string
	}{
		{triple{"", "b", "c"}, oncehook.CodeFieldMissing, "source"},
		{triple{"a", "", "c"}, oncehook.CodeTenantMissing, "tenant"},
		{triple{"a", "b", ""}, oncehook.CodeFieldMissing, "id"},
		{triple{strings.Repeat("s", 41), "b", "c"}, oncehook.CodeFieldInvalid, "source"},
		{triple{"a", strings.Repeat("é", 14), "c"}, oncehook.CodeFieldInvalid, "tenant"},
		{triple{"a", "b", strings.Repeat("i", 1001)}, oncehook.CodeIDTooLong, "id"},
		{triple{"a", "b\xff", "c"}, oncehook.CodeFieldInvalid, "tenant"},
		{triple{"a", "b", "\xed\xa0\x80"}, oncehook.CodeFieldInvalid, "id"},
	} {
		_, err := i.Key(test.source, test.tenant, test.id, false)
		var refusal *oncehook.Refusal
		require.ErrorAs(t, err, &refusal)
		require.Equal(t, test.code, refusal.Code)
		require.Equal(t, test.field, refusal.Field)
	}
}
