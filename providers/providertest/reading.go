package providertest

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

func (s Subject) twoDeliveries(t *testing.T) {
	body := s.Body("twice-1")
	again := body
	if s.Again != nil {
		again = s.Again(body)
		require.NotEqual(t, string(body), string(again), "the later attempt changes nothing")
	}
	_, first := s.read(t, s.Genuine(t, "twice-1", 1))
	later := s.signed(t, again, "twice-1", 7, Received.Add(48*time.Hour))
	_, second := s.read(t, later)
	require.Len(t, second, len(first))
	for n := range first {
		a, b := first[n].Event, second[n].Event
		require.Equal(t, []string{a.ID, a.Tenant, a.Type}, []string{b.ID, b.Tenant, b.Type})
		require.JSONEq(t, string(a.Compared), string(b.Compared))
	}
	_, changed := s.read(t, s.signed(t, s.Changed(body), "twice-1", 1, Received))
	require.Equal(t, first[0].Event.ID, changed[0].Event.ID)
	require.NotEqual(t, string(first[0].Event.Compared), string(changed[0].Event.Compared), "a changed business fact is a conflict")
	_, other := s.read(t, s.Genuine(t, "twice-2", 1))
	require.NotEqual(t, first[0].Event.ID, other[0].Event.ID)
}

// headerOrder sends the headers in two orders and spellings over the wire's form.
func (s Subject) headerOrder(t *testing.T) {
	r := s.Genuine(t, "order-1", 1)
	names := slices.Sorted(maps.Keys(r.Header))
	var read [][]oncehook.Item
	for _, spelling := range []func(string) string{strings.ToLower, strings.ToUpper} {
		text := "POST /hooks/source HTTP/1.1\r\nHost: hooks.example.test\r\n"
		for _, name := range names {
			text += spelling(name) + ": " + r.Header.Get(name) + "\r\n"
		}
		text += fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(r.Body), r.Body)
		parsed, err := http.ReadRequest(bufio.NewReader(strings.NewReader(text)))
		require.NoError(t, err)
		body, err := io.ReadAll(parsed.Body)
		require.NoError(t, err)
		_, items := s.read(t, Request(parsed.Header, body))
		read = append(read, items)
		slices.Reverse(names)
	}
	require.Equal(t, read[0], read[1])
}

func (s Subject) anyBody(t *testing.T) {
	genuine := s.Genuine(t, "body-1", 1)
	proof, _ := s.read(t, genuine)
	bodies := append(HostileBodies(), alterations(string(genuine.Body))...)
	for _, body := range bodies {
		r := genuine
		r.Body = []byte(body)
		s.readOrRefuse(t, r, proof)
	}
}

func (s Subject) readOrRefuse(t *testing.T, r oncehook.Request, proof oncehook.Proof) {
	t.Helper()
	items, err := s.Provider(t).Events(r, proof)
	if err != nil {
		s.checkRefusal(t, err, r)
		return
	}
	for _, item := range items {
		if item.Refusal != nil {
			s.checkRefusal(t, item.Refusal, r)
			continue
		}
		s.checkEvent(t, item.Event)
	}
}

func (s Subject) anyHeader(t *testing.T) {
	genuine := s.Genuine(t, "header-1", 1)
	names := []string{"Content-Type"}
	for name := range genuine.Header {
		names = append(names, name)
	}
	for _, value := range HostileHeaders() {
		for _, name := range names {
			for _, values := range [][]string{{value}, {value, value}} {
				r := with(genuine, name, values...)
				proof, err := s.Provider(t).Verify(r)
				if err != nil {
					s.checkAuthError(t, err, r)
					continue
				}
				s.readOrRefuse(t, r, proof)
			}
		}
	}
}
