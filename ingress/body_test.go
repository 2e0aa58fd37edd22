package ingress_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

const headOfHook = "POST /hooks/logistics HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

func TestAStrangersBodyIsNotRead(t *testing.T) {
	t.Parallel()
	// Nobody whose body is read is answered within the test.
	s := start(t, func(s *setup) { s.Timeouts.Body = time.Hour })
	for name, credential := range map[string]string{
		"no token":        "",
		"wrong token":     "Authorization: Bearer wrong-wrong-wrong\r\n",
		"malformed token": "Authorization: Basic eDp5\r\n",
	} {
		for _, framing := range []string{"Content-Length: 1000\r\n\r\n", "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"", "Content-Length: 1000\r\nExpect: 100-continue\r\n\r\n"} {
			a := s.raw(headOfHook + credential + framing)
			require.Equal(t, http.StatusUnauthorized, a.status, name)
			require.Equal(t, "unauthenticated", a.text("code"))
		}
	}
	// What the path, the method and the header say of the request itself comes first.
	for text, status := range map[string]int{
		"POST /hooks/nobody HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n":    http.StatusNotFound,
		"PUT /hooks/logistics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n":  http.StatusMethodNotAllowed,
		"POST /hooks/logistics HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n": http.StatusUnsupportedMediaType,
		headOfHook + "Content-Length: 99999999\r\n\r\n":                             http.StatusRequestEntityTooLarge,
	} {
		require.Equal(t, status, s.raw(text).status, text)
	}
}

// sending opens a request of the source's sender and sends a part of its body.
func (s *system) sending(part string, length int) net.Conn {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { _ = conn.Close() })
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = fmt.Fprintf(conn, "%sAuthorization: Bearer %s\r\nContent-Length: %d\r\n\r\n%s", headOfHook, token, length, part)
	require.NoError(s.t, err)
	return conn
}

func TestBodiesBeyondTheBudgetAre503UntilOthersEnd(t *testing.T) {
	t.Parallel()
	s := start(t, func(s *setup) { s.BodyBudget = 40 << 10 })
	half := strings.Repeat(" ", 17<<10)
	first := s.sending(half, 30<<10)
	require.Eventually(t, func() bool {
		a := s.post("logistics", half)
		if a.status != http.StatusServiceUnavailable {
			return false
		}
		s.refusedWith(a, http.StatusServiceUnavailable, oncehook.CodeUnavailable)
		require.NotEmpty(t, a.header.Get("Retry-After"))
		return true
	}, 10*time.Second, 10*time.Millisecond)
	s.counted("logistics", oncehook.Unavailable, "body_budget")
	s.acceptedAs(s.post("logistics", event("small")), oncehook.Accepted)

	_, err := fmt.Fprint(first, strings.Repeat(" ", 13<<10))
	require.NoError(t, err)
	answer, err := http.ReadResponse(bufio.NewReader(first), nil)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusBadRequest, answer.StatusCode, "a body that was begun is read to its end")
	require.Eventually(t, func() bool {
		return s.post("logistics", half).status == http.StatusBadRequest
	}, 10*time.Second, 10*time.Millisecond, "the budget comes back")
}

func TestAPromisedLengthHoldsNoBudget(t *testing.T) {
	t.Parallel()
	s := start(t, func(s *setup) { s.BodyBudget = 100 << 10 })
	for range 16 {
		s.sending("{", 64<<10)
	}
	for n := range 10 {
		s.acceptedAs(s.post("logistics", event(fmt.Sprint("e", n))), oncehook.Accepted)
	}
}
