package strictjson_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

func parse(t *testing.T, text string) *strictjson.Object {
	t.Helper()
	o, err := strictjson.Parse([]byte(text))
	require.NoError(t, err)
	return o
}

func refused(t *testing.T, err error, what string) {
	t.Helper()
	var refusal *oncehook.Refusal
	require.ErrorAs(t, err, &refusal, what)
}

func TestAChildIsAnObjectOrNotThere(t *testing.T) {
	o := parse(t, `{"a":{"b":{"c":"deep"}},"n":null,"list":[],"t":"{}"}`)
	a, err := o.Child("a")
	require.NoError(t, err)
	b, err := a.Child("b")
	require.NoError(t, err)
	require.Equal(t, "deep", b.Loose("c", 10))
	for _, name := range []string{"n", "absent"} {
		c, err := o.Child(name)
		require.NoError(t, err)
		require.Nil(t, c)
	}
	for _, name := range []string{"list", "t", "A"} {
		_, err := o.Child(name)
		refused(t, err, name)
	}
}

func TestDigitsAreKeptOrRefused(t *testing.T) {
	o := parse(t, `{"big":18446744073709551615,"n":null,"neg":-1,"dec":1.0,"exp":1e3,"text":"1","long":123456789012345678901}`)
	digits, err := o.Digits("big")
	require.NoError(t, err)
	require.Equal(t, "18446744073709551615", digits)
	digits, err = o.Digits("n")
	require.NoError(t, err)
	require.Empty(t, digits)
	for _, name := range []string{"neg", "dec", "exp", "text", "long"} {
		_, err := o.Digits(name)
		refused(t, err, name)
	}
}

func TestALooseValueIsTextOrNothing(t *testing.T) {
	o := parse(t, `{"t":"x","n":1.50,"l":[1],"o":{},"b":true,"z":null,"bad":"\ud800","nul":"\u0000","long":"1234567890"}`)
	require.Equal(t, "x", o.Loose("t", 5))
	require.Equal(t, "1.50", o.Loose("n", 5))
	for _, name := range []string{"l", "o", "b", "z", "bad", "nul", "long", "absent", "T"} {
		require.Empty(t, o.Loose(name, 5), name)
	}
}

func TestMembersThatAParserMightMixUpAreRefused(t *testing.T) {
	for _, text := range []string{`{"a":1,"a":2}`, `{"a":1,"A":2}`, `{"K":1,"\u212a":2}`, `{"s":1,"\u017f":2}`} {
		_, err := parse(t, text).Members()
		refused(t, err, text)
	}
	members, err := parse(t, `{"b":1,"a":{"x":2}}`).Members()
	require.NoError(t, err)
	var w strictjson.Writer
	for name, value := range members {
		w.Raw(name, value)
		if name == "a" {
			break
		}
	}
	w.Raw("left out", nil)
	w.Text("empty", "")
	w.Text(`q"`, `"`)
	require.Equal(t, `{"b":1,"a":{"x":2},"q\"":"\""}`, string(w.Bytes()))
	require.Equal(t, "{}", string((&strictjson.Writer{}).Bytes()))
}
