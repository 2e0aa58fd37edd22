package sample_test

import (
	"embed"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/providers/internal/sample"
)

func TestASetValueTakesTheKindOfWhatItReplaces(t *testing.T) {
	const body = `{"text":"a","number":1,"yes":true,"nothing":null,"list":[1],"deep":{"er":{"number":12345678901234567890}}}`
	for path, c := range map[string]struct{ value, want string }{
		"text":             {"7", `"7"`},
		"number":           {"7", `7`},
		"yes":              {"false", `false`},
		"nothing":          {"7", `7`},
		"list":             {"[2, 3]", "2,\n    3\n"},
		"deep.er.number":   {"98765432109876543210", `98765432109876543210`},
		"number ":          {"7", `"7"`},
		"new":              {"7", `"7"`},
		"deep.new.er":      {"x", `"x"`},
		"nothing.now":      {"x", `"x"`},
		"deep.er":          {"x", `"x"`},
		"text\u2028\"name": {"<&>", `"<&>"`},
	} {
		out, err := sample.Apply([]byte(body), nil, map[string]string{path: c.value})
		require.NoError(t, err, path)
		require.Contains(t, string(out), c.want, path)
		require.Contains(t, string(out), `"number"`)
	}
	for path, value := range map[string]string{"number": "x", "yes": "1", "list": "1"} {
		out, err := sample.Apply([]byte(body), nil, map[string]string{path: value})
		require.NoError(t, err)
		require.Contains(t, string(out), `"`+path+`": "`+value+`"`, "what cannot be read as its kind is a string")
	}
}

func TestChangesComeBeforeWhatIsAsked(t *testing.T) {
	out, err := sample.Apply([]byte(`{"b":1,"a":{"x":1,"y":2}}`), []sample.Change{{Path: "a.x"}, {Path: "b", Value: []byte("2")}, {Path: "gone.away"}}, map[string]string{"b": "3"})
	require.NoError(t, err)
	require.Equal(t, "{\n  \"b\": 3,\n  \"a\": {\n    \"y\": 2\n  }\n}", string(out), "order is kept")
}

func TestAPathThroughWhatIsNoObjectIsAnError(t *testing.T) {
	_, err := sample.Apply([]byte(`{"a":1}`), nil, map[string]string{"a.b": "x"})
	require.ErrorContains(t, err, "set a.b")
}

func TestASampleIsFoundInItsFolderAlone(t *testing.T) {
	_, ok := sample.Load(embed.FS{}, "../../etc/passwd")
	require.False(t, ok)
	require.Empty(t, sample.Names(embed.FS{}))
}
