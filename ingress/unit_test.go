package ingress_test

import (
	"bytes"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// lines is the bearer contract with an event per line, to test requests of several events.
type lines struct{ oncehook.Provider }

func (p lines) Events(r oncehook.Request, proof oncehook.Proof) ([]oncehook.Item, error) {
	var items []oncehook.Item
	for line := range bytes.SplitSeq(r.Body, []byte("\n")) {
		switch string(line) {
		case "":
			continue
		case "panic":
			panic("with " + string(r.Body))
		case "bug":
			return nil, errBug{string(r.Body)}
		}
		one := r
		one.Body = line
		read, err := p.Provider.Events(one, proof)
		if refusal, ok := err.(*oncehook.Refusal); ok {
			items = append(items, oncehook.Item{Refusal: refusal})
			continue
		}
		items = append(items, read...)
	}
	return items, nil
}

type errBug struct{ body string }

func (e errBug) Error() string { return "cannot read " + e.body }

// replier answers in terms of its own, and handshakes.
type replier struct{ lines }

func (p replier) Reply(results []oncehook.Result) oncehook.Reply {
	words := make([]string, len(results))
	for n, r := range results {
		words[n] = string(r.Outcome)
	}
	return oncehook.Reply{Status: http.StatusTeapot, Header: http.Header{"Content-Type": {"text/plain"}}, Body: []byte(strings.Join(words, " "))}
}

func (p replier) Challenge(r oncehook.Request) (oncehook.Reply, bool) {
	if !strings.Contains(r.URL, "?hello=") {
		return oncehook.Reply{}, false
	}
	return oncehook.Reply{Status: http.StatusOK, Body: []byte(r.Method + " " + r.URL)}, true
}

func (replier) TakesContentType(mediaType string) bool { return mediaType == "text/plain" }

func several(change func(lines) oncehook.Provider) func(*setup) {
	return func(s *setup) {
		s.PublicURL = "https://hooks.example.test/base"
		s.Sources[0].Provider = change(lines{Provider: s.Sources[0].Provider})
	}
}

func plainLines(l lines) oncehook.Provider { return l }

func TestARequestOfSeveralEventsIsOneUnit(t *testing.T) {
	t.Parallel()
	s := start(t, several(plainLines))
	a := s.post("logistics", event("e1")+"\n"+event("e2")+"\n"+event("e1"))
	require.Equal(t, http.StatusAccepted, a.status, a.body)
	results, _ := a.fields["results"].([]any)
	require.Len(t, results, 3)
	for n, want := range []struct{ status, key string }{{"accepted", "logistics:north:e1"}, {"accepted", "logistics:north:e2"}, {"duplicate", "logistics:north:e1"}} {
		r := results[n].(map[string]any)
		require.Len(t, r, 4)
		require.Equal(t, want.status, r["status"])
		require.Equal(t, want.key, r["event_key"])
	}
	require.Equal(t, 1, s.number(`SELECT count(DISTINCT transaction_id::text) FROM oncehook.audit WHERE outcome = 'accepted'`))

	a = s.post("logistics", event("e1")+"\n"+event("e2"))
	require.Equal(t, http.StatusOK, a.status, "all of them were known")
	s.acceptedAs(s.post("logistics", event("e1")), oncehook.Duplicate)
}

func TestARefusedEventRefusesItsWholeUnit(t *testing.T) {
	t.Parallel()
	s := start(t, several(plainLines))
	for name, c := range map[string]struct {
		second string
		code   oncehook.Code
	}{
		"unreadable": {"{", oncehook.CodeMalformedJSON},
		"forbidden":  {event("e2", "north", "south"), oncehook.CodeTenantForbidden},
		"other type": {event("e2", arrival, "x"), oncehook.CodeTypeUnrecognized},
	} {
		t.Run(name, func(*testing.T) {
			s.refusedWith(s.post("logistics", event("e1")+"\n"+c.second+"\n"+event("e3")), c.code.Status(), c.code)
		})
	}
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.event_keys`))
}

func TestAConflictInAUnitIsAnswered409WithEachResult(t *testing.T) {
	t.Parallel()
	s := start(t, several(plainLines))
	s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
	a := s.refusedWith(s.post("logistics", event("e1", "depot-1", "depot-2")+"\n"+event("e2")), http.StatusConflict, oncehook.CodeEventConflict)
	results, _ := a.fields["results"].([]any)
	require.Len(t, results, 2)
	require.Equal(t, "conflict", results[0].(map[string]any)["status"])
	require.Equal(t, "accepted", results[1].(map[string]any)["status"])
	s.acceptedAs(s.post("logistics", event("e2")), oncehook.Duplicate)
}

func TestAUnitLargerThanTheBurstPassesAFullBucket(t *testing.T) {
	t.Parallel()
	s := start(t, several(plainLines), func(s *setup) { s.Sources[0].Rate, s.Sources[0].Burst = 0.001, 2 })
	a := s.post("logistics", event("e1")+"\n"+event("e2")+"\n"+event("e3"))
	require.Equal(t, http.StatusAccepted, a.status, a.body)
	s.refusedWith(s.post("logistics", event("e1")+"\n"+event("e4")), http.StatusTooManyRequests, oncehook.CodeRateLimited)
	require.Equal(t, http.StatusOK, s.post("logistics", event("e1")+"\n"+event("e2")).status)
}

func TestARequestWithoutEventsIsAnsweredWithNone(t *testing.T) {
	t.Parallel()
	s := start(t, several(plainLines))
	a := s.post("logistics", "")
	require.Equal(t, http.StatusOK, a.status)
	require.JSONEq(t, `{"results":[]}`, a.body)
}

func TestABugIs500AndTellsNothingOfTheBody(t *testing.T) {
	t.Parallel()
	s := start(t, several(plainLines))
	const secret = "confidential-content"
	for _, body := range []string{"panic\n" + secret, "bug\n" + secret} {
		a := s.refusedWith(s.post("logistics", body), http.StatusInternalServerError, oncehook.CodeInternal)
		require.NotContains(t, a.body, secret)
		require.Contains(t, s.log.String(), a.text("correlation_id"))
	}
	require.NotContains(t, s.log.String(), secret)
	require.Contains(t, s.log.String(), "a request panicked")
	s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
}

func TestAProviderAnswersInItsOwnTerms(t *testing.T) {
	t.Parallel()
	s := start(t, several(func(l lines) oncehook.Provider { return replier{l} }))
	plain := header("Content-Type", "text/plain")
	for body, want := range map[string]string{
		event("e1") + "\n" + event("e2"): "accepted accepted",
		"{":                              "rejected",
		event("e3", "north", "south"):    "tenant_forbidden",
	} {
		a := s.post("logistics", body, plain)
		require.Equal(t, http.StatusTeapot, a.status)
		require.Equal(t, want, a.body)
		require.Equal(t, "text/plain", a.header.Get("Content-Type"))
		s.protected(a)
	}
	s.refusedWith(s.post("logistics", event("e4"), plain, bearerOf("wrong-wrong-wrong")), http.StatusUnauthorized, oncehook.CodeUnauthenticated)
	s.refusedWith(s.post("logistics", event("e4")), http.StatusUnsupportedMediaType, oncehook.CodeContentTypeUnsupported)
}

func TestAHandshakeIsAnsweredBeforeAnythingElse(t *testing.T) {
	t.Parallel()
	s := start(t, several(func(l lines) oncehook.Provider { return replier{l} }))
	for _, m := range []string{http.MethodGet, http.MethodPost} {
		a := s.post("logistics?hello=a%20b", "", method(m), header("Authorization"), header("Content-Type"))
		require.Equal(t, http.StatusOK, a.status)
		require.Equal(t, m+" https://hooks.example.test/base/hooks/logistics?hello=a%20b", a.body, "the URL is the public one")
	}
	s.refusedWith(s.post("logistics", "", method(http.MethodGet)), http.StatusMethodNotAllowed, oncehook.CodeMethodNotAllowed)
}

func TestPersonalIDsStayOutOfKeysAndTables(t *testing.T) {
	t.Parallel()
	s := start(t, func(s *setup) { s.Sources[0].PersonalIDs = true })
	a := s.acceptedAs(s.post("logistics", event("jane@example.test")), oncehook.Accepted)
	require.True(t, strings.HasPrefix(a.text("event_key"), "logistics:north:~k"))
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.receipts WHERE event_id LIKE '%jane%'`))
	s.acceptedAs(s.post("logistics", event("jane@example.test")), oncehook.Duplicate)
}
