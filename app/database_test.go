package app_test

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/tests/harness"
)

// count is how often the log has a text.
func (l *logged) count(text string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.text.String(), text)
}

func TestServeSaysOncePerChangeThatPostgreSQLDoesNotAnswer(t *testing.T) {
	t.Parallel()
	s := harness.New(t, harness.Options{})
	proxy := harness.NewProxy(t, s.URL)
	proxy.HoldAnswers()
	a, log := load(t, s.Through(proxy.Addr()))
	server, err := a.StartServe(t.Context(), app.OnlyIngress)
	require.NoError(t, err)
	t.Cleanup(func() { _ = server.Stop(context.Background()) })
	const away, back = "postgresql does not answer", "postgresql answers again"
	for n := range 2 {
		eventually(t, func() bool { return log.count(away) == n+1 }, "says that it is away")
		// Several more questions stay without an answer, and without a word.
		asked := proxy.Connections()
		eventually(t, func() bool { return proxy.Connections() >= asked+3 }, "asks again")
		require.Equal(t, n+1, log.count(away))
		require.Equal(t, n, log.count(back))
		proxy.Pass()
		eventually(t, func() bool { return log.count(back) == n+1 }, "says that it is back")
		proxy.HoldAnswers()
	}
	require.NotContains(t, log.text.String(), "password")
}
