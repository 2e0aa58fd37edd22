package strictjson_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/internal/strictjson"
)

func TestOnlyOneWholeObjectIsParsed(t *testing.T) {
	for _, body := range []string{
		"", " ", "null", "[]", "1", `"x"`, "{", "}", "{}{}", "{} x", `{"a"}`, `{"a":}`, `{"a":1,}`, `{a:1}`, "{'a':1}", `{"a":01}`, `{"a":NaN}`,
		"\ufeff{}", "{\"a\":\"\xff\"}", "\xff", "{\"\xed\xa0\x80\":1}", `{"a":"` + "\n" + `"}`, strings.Repeat("[", 20_000),
		`{"a":` + strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000) + "}", `{"a":"\u12"}`, "{\"a\":\x00}", "{\"a\":\"\x00\"}",
	} {
		_, err := strictjson.Parse([]byte(body))
		refusal, ok := err.(*oncehook.Refusal)
		require.True(t, ok, "%.40q: %v", body, err)
		require.Equal(t, oncehook.CodeMalformedJSON, refusal.Code)
	}
}

func TestValuesKeepTheirBytes(t *testing.T) {
	const body = ` { "n" : 12345678901234567890.10 , "o":{"x" : [1, 2]}, "s":"\u0000\ud800" ,"e":1e400} `
	o, err := strictjson.Parse([]byte(body))
	require.NoError(t, err)
	for name, want := range map[string]string{"n": "12345678901234567890.10", "o": `{"x" : [1, 2]}`, "s": `"\u0000\ud800"`, "e": "1e400", "absent": ""} {
		raw, err := o.Raw(name)
		require.NoError(t, err)
		require.Equal(t, want, string(raw))
	}
	require.False(t, o.DuplicateNames)
}

func TestDeepNestingIsRead(t *testing.T) {
	o, err := strictjson.Parse([]byte(`{"a":` + strings.Repeat("[", 9_999) + strings.Repeat("]", 9_999) + "}"))
	require.NoError(t, err)
	require.False(t, o.DuplicateNames)
}

func TestRepeatedNamesAreSeenAtAnyDepth(t *testing.T) {
	for body, want := range map[string]bool{
		`{"a":1,"b":1}`:               false,
		`{"a":1,"A":1}`:               false,
		`{"a":1,"a":1}`:               true,
		`{"a":1,"\u0061":1}`:          true,
		`{"a":{"b":1,"b":1}}`:         true,
		`{"a":[{"b":{"c":1,"c":2}}]}`: true,
		`{"a":[{"b":1},{"b":1}]}`:     false,
	} {
		o, err := strictjson.Parse([]byte(body))
		require.NoError(t, err)
		require.Equal(t, want, o.DuplicateNames, body)
	}
}

func TestATextIsUnambiguousAndStorable(t *testing.T) {
	for body, want := range map[string]oncehook.Code{
		`{"id":"1","id":"1"}`:      oncehook.CodeFieldAmbiguous,
		`{"id":"1","\u0069d":"1"}`: oncehook.CodeFieldAmbiguous,
		`{"id":"1","ID":"2"}`:      oncehook.CodeFieldAmbiguous,
		`{"Id":"1"}`:               oncehook.CodeFieldAmbiguous,
		`{"id":1}`:                 oncehook.CodeFieldInvalid,
		`{"id":true}`:              oncehook.CodeFieldInvalid,
		`{"id":{}}`:                oncehook.CodeFieldInvalid,
		`{"id":"a\u0000b"}`:        oncehook.CodeFieldInvalid,
		`{"id":"\ud800"}`:          oncehook.CodeFieldInvalid,
		`{"id":"\udc00\ud800"}`:    oncehook.CodeFieldInvalid,
	} {
		o, err := strictjson.Parse([]byte(body))
		require.NoError(t, err, body)
		_, err = o.Text("id")
		refusal, ok := err.(*oncehook.Refusal)
		require.True(t, ok, body)
		require.Equal(t, want, refusal.Code, body)
	}
	for body, want := range map[string]string{
		`{"id":"\ud83d\ude00"}`: "😀", `{"id":""}`: "", `{"id":null}`: "", `{}`: "", `{"id":"\u0041"}`: "A", `{"ſ":"x","id":"y"}`: "y",
	} {
		o, err := strictjson.Parse([]byte(body))
		require.NoError(t, err, body)
		text, err := o.Text("id")
		require.NoError(t, err, body)
		require.Equal(t, want, text)
	}
}
