package effect_test

import (
	"context"
	"testing"

	"github.com/google/uuid"
	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/effect"
)

func mustParse(t testing.TB, id string) uuid.UUID {
	t.Helper()
	parsed, err := uuid.Parse(id)
	require.NoError(t, err)
	return parsed
}

func TestRegistryRefusesWhatAWorkerCouldNotDo(t *testing.T) {
	t.Parallel()
	other := effect.Local[input, output]("test.other")
	otherTypes := effect.Local[string, output]("test.write")
	noFunction := write.Bind(nil)
	bound := write.Bind(perform)
	cases := map[string]struct {
		declared []effect.Declared
		bindings []effect.Binding
		problem  string
	}{
		"no function":      {[]effect.Declared{write, other}, []effect.Binding{bound}, `action "test.other" has no function`},
		"nil function":     {[]effect.Declared{write}, []effect.Binding{noFunction}, `bound to no function`},
		"not declared":     {nil, []effect.Binding{bound}, `has a function but is not declared`},
		"declared twice":   {[]effect.Declared{write, write}, []effect.Binding{bound}, `declared twice`},
		"two functions":    {[]effect.Declared{write}, []effect.Binding{bound, bound}, `two functions`},
		"other types":      {[]effect.Declared{write}, []effect.Binding{otherTypes.Bind(func(context.Context, string) (output, error) { return output{}, nil })}, `other types`},
		"invalid name":     {[]effect.Declared{effect.Local[input, output]("Write!")}, nil, `must match`},
		"oncehook's names": {[]effect.Declared{effect.Local[input, output]("oncehook.finish")}, nil, `oncehook's own`},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := effect.NewRegistry(c.declared, c.bindings)
			require.ErrorContains(t, err, c.problem)
		})
	}
	_, err := effect.NewRegistry([]effect.Declared{write}, []effect.Binding{bound})
	require.NoError(t, err)
}
