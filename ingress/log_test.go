package ingress_test

import (
	"bufio"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/ingress"
	"github.com/oncehook/oncehook/providers/providertest"
)

func (s *system) logLines() []map[string]any {
	var lines []map[string]any
	for scan := bufio.NewScanner(strings.NewReader(s.log.String())); scan.Scan(); {
		var line map[string]any
		require.NoError(s.t, json.Unmarshal(scan.Bytes(), &line))
		lines = append(lines, line)
	}
	return lines
}

func TestRefusalsAreLoggedOncePerKindAndCounted(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Now()}
	s := start(t, func(s *setup) { s.Now = c.read })
	for range 50 {
		s.post("logistics", event("e1"), bearerOf("forged-forged-forged"))
		s.post("logistics", "{")
	}
	require.Len(t, s.logLines(), 2, "one line per kind, however many")
	c.advance(time.Second)
	s.post("logistics", event("e1"), bearerOf("forged-forged-forged"))
	lines := s.logLines()
	require.Len(t, lines, 3)
	require.EqualValues(t, 49, lines[2]["more_since_last_line"])
	require.Equal(t, "unauthenticated", lines[2]["outcome"])
	require.Equal(t, "wrong_secret", lines[2]["cause"])
	require.Equal(t, "127.0.0.1", lines[2]["peer"])
	require.Len(t, lines[2]["correlation_id"], 36)
}

func TestTheLogHoldsNothingThatASenderWrote(t *testing.T) {
	t.Parallel()
	c := &clock{now: time.Now()}
	s := start(t, func(s *setup) { s.Now = c.read })
	mark := providertest.Marker
	for _, send := range []func(){
		func() { s.post("logistics", event(mark, "depot-1", mark, arrival, mark)) },
		func() { s.post("logistics", event("e1", "north", mark)) },
		func() { s.post("logistics", `{"`+mark+`"`) },
		func() { s.post("logistics", event("e1"), bearerOf(mark+mark)) },
		func() { s.post("logistics", event("e1"), header("Content-Type", mark+"/x\xff")) },
		func() { s.post("logistics", event("e1"), header("User-Agent", mark)) },
		func() { s.post(mark+"%0A%22level%22", event("e1")) },
		func() { s.post("logistics", event("e1", "depot-1", mark)) },
	} {
		send()
		c.advance(2 * time.Second)
	}
	require.NotEmpty(t, s.logLines())
	require.NotContains(t, s.log.String(), mark)
	require.NotContains(t, s.log.String(), token)
}

func TestAnUnusableConfigurationIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, change := range map[string]func(*ingress.Config){
		"no store":            func(c *ingress.Config) { c.Store = nil },
		"no keyring":          func(c *ingress.Config) { c.Keyring = nil },
		"no provider":         func(c *ingress.Config) { c.Sources[0].Provider = nil },
		"no types":            func(c *ingress.Config) { c.Sources[0].Types = nil },
		"no body limit":       func(c *ingress.Config) { c.Sources[0].BodyLimit = 0 },
		"unknown retention":   func(c *ingress.Config) { c.Sources[0].Retention = "ever" },
		"a rate and no burst": func(c *ingress.Config) { c.Sources[0].Rate = 1 },
		"a source twice":      func(c *ingress.Config) { c.Sources = append(c.Sources, c.Sources[0]) },
	} {
		c := ingress.Config{Store: s.store, Keyring: keys(), Sources: []ingress.Source{sourceOf(t, "logistics")}, Log: slog.New(slog.DiscardHandler)}
		change(&c)
		_, err := ingress.New(c)
		require.Error(t, err, name)
	}
	_, err := ingress.New(ingress.Config{Store: s.store, Keyring: keys()})
	require.NoError(t, err)
	s.refusedWith(s.post("nobody", ""), 404, oncehook.CodeSourceUnknown)
}
