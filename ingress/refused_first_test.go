package ingress_test

import (
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// Promise 1: a refused request with a genuine future id reserves nothing.
func TestARefusedRequestReservesNothing(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, refuse := range map[string]func(id string) answer{
		"401": func(id string) answer { return s.post("logistics", event(id), bearerOf("forged-token-forged")) },
		"403": func(id string) answer { return s.post("logistics", event(id, "north", "south")) },
		"413": func(id string) answer {
			return s.post("logistics", event(id, `"id"`, `"note":"`+strings.Repeat("x", 70_000)+`","id"`))
		},
		"415": func(id string) answer { return s.post("logistics", event(id), header("Content-Type", "text/plain")) },
		"422": func(id string) answer { return s.post("logistics", event(id, "depot-1", "")) },
		"400": func(id string) answer { return s.post("logistics", event(id)+"}") },
	} {
		require.Equal(t, name, strconv.Itoa(refuse("future-"+name).status))
		require.Zero(t, s.number(`SELECT count(*) FROM oncehook.event_keys WHERE key LIKE '%' || $1`, "future-"+name))
		s.acceptedAs(s.post("logistics", event("future-"+name)), oncehook.Accepted)
	}
	t.Run("409", func(*testing.T) {
		s.acceptedAs(s.post("logistics", event("future-409")), oncehook.Accepted)
		s.refusedWith(s.post("logistics", event("future-409", "depot-1", "depot-2")), http.StatusConflict, oncehook.CodeEventConflict)
		s.acceptedAs(s.post("logistics", event("future-409")), oncehook.Duplicate)
	})
}
