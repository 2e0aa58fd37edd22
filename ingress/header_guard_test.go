package ingress_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/ingress"
)

type ownAnswer struct {
	peer string
	code oncehook.Code
}

func startHeaderServer(t *testing.T) (addr string, answers chan ownAnswer) {
	t.Helper()
	answers = make(chan ownAnswer, 2)
	guard := ingress.HeaderGuard{OnAnswer: func(peer net.Addr, code oncehook.Code) { answers <- ownAnswer{peer.String(), code} }}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	server := &http.Server{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/refused" {
				_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				w.Header().Set("Connection", "close")
				w.WriteHeader(http.StatusUnsupportedMediaType)
				return
			}
			if r.URL.Path == "/like-net-http" {
				w.Header().Set("Connection", "close")
				http.Error(w, "417", http.StatusExpectationFailed)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusNoContent)
		}),
		ReadHeaderTimeout: 100 * time.Millisecond,
		IdleTimeout:       100 * time.Millisecond,
		MaxHeaderBytes:    8 << 10,
	}
	guard.Attach(server)
	go func() { _ = server.Serve(guard.Listen(listener)) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String(), answers
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	return conn
}

func TestAHeaderPastItsDeadlineIsAnswered408(t *testing.T) {
	addr, answers := startHeaderServer(t)
	conn := dial(t, addr)
	_, err := fmt.Fprint(conn, "POST /hooks/logistics HTTP/1.1\r\nHost: x\r\nContent-")
	require.NoError(t, err)

	answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(t, err)
	body, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusRequestTimeout, answer.StatusCode)
	require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
	require.Contains(t, string(body), `"code":"request_timeout"`)
	require.Equal(t, ownAnswer{conn.LocalAddr().String(), oncehook.CodeRequestTimeout}, <-answers)
}

func TestAnIdleConnectionIsClosedWithoutAnAnswer(t *testing.T) {
	addr, answers := startHeaderServer(t)
	conn := dial(t, addr)
	_, err := fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	require.NoError(t, err)

	all, err := io.ReadAll(conn) // to the idle timeout's close
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(all), "HTTP/1.1"), "one answer, to the one request")
	require.Empty(t, answers)
}

func TestTheBodyOfAnAnsweredRequestIsNotTakenForAHeader(t *testing.T) {
	addr, answers := startHeaderServer(t)
	conn := dial(t, addr)
	_, err := fmt.Fprint(conn, "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n")
	require.NoError(t, err)
	reader := bufio.NewReader(conn)
	answer, err := http.ReadResponse(reader, nil)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	require.Equal(t, http.StatusUnsupportedMediaType, answer.StatusCode)
	_, err = fmt.Fprint(conn, "a part of the body")
	require.NoError(t, err)

	rest, err := io.ReadAll(reader)
	require.NoError(t, err)
	require.Empty(t, rest, "one answer, to the one request")
	require.Empty(t, answers)
}

func TestWhatIsNoHTTPIsAnsweredByAProblemDocument(t *testing.T) {
	head := "POST / HTTP/1.1\r\nHost: x\r\n"
	for name, c := range map[string]struct {
		text string
		code oncehook.Code
	}{
		"another transfer coding":     {head + "Transfer-Encoding: gzip\r\n\r\n" + strings.Repeat("x", 100_000), oncehook.CodeContentEncodingUnsupported},
		"two transfer codings":        {head + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", oncehook.CodeContentEncodingUnsupported},
		"no request line":             {"\x16\x03\x01\x02\x00\x01\r\n\r\n", oncehook.CodeMalformedRequest},
		"a header without a colon":    {head + "nonsense\r\n\r\n", oncehook.CodeMalformedRequest},
		"a NUL in a header":           {head + "X-A: \x00\r\n\r\n", oncehook.CodeMalformedRequest},
		"two lengths":                 {head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}", oncehook.CodeMalformedRequest},
		"no host":                     {"POST / HTTP/1.1\r\n\r\n", oncehook.CodeMalformedRequest},
		"another version":             {"POST / HTTP/2.0\r\nHost: x\r\n\r\n", oncehook.CodeMalformedRequest},
		"a large header":              {head + "X-A: " + strings.Repeat("x", 64<<10) + "\r\n\r\n", oncehook.CodeHeaderTooLarge},
		"an expectation":              {head + "Expect: 200-ok\r\nContent-Length: 9\r\n\r\n", oncehook.CodeMalformedRequest},
		"an expectation of HTTP/1.0":  {"POST / HTTP/1.0\r\nExpect: x\r\nContent-Length: 9\r\n\r\n", oncehook.CodeMalformedRequest},
		"the second request of a row": {head + "Content-Length: 0\r\n\r\nnonsense\r\n\r\n", oncehook.CodeMalformedRequest},
	} {
		t.Run(name, func(t *testing.T) {
			addr, answers := startHeaderServer(t)
			conn := dial(t, addr)
			_, err := fmt.Fprint(conn, c.text)
			require.NoError(t, err)
			reader := bufio.NewReader(conn)
			answer, err := http.ReadResponse(reader, nil)
			require.NoError(t, err)
			if answer.StatusCode == http.StatusNoContent {
				answer, err = http.ReadResponse(reader, nil)
				require.NoError(t, err)
			}
			body, err := io.ReadAll(answer.Body)
			require.NoError(t, err)
			require.Equal(t, c.code.Status(), answer.StatusCode)
			require.Equal(t, "application/problem+json", answer.Header.Get("Content-Type"))
			require.Contains(t, string(body), `"code":"`+string(c.code)+`"`)
			rest, err := io.ReadAll(reader)
			require.NoError(t, err, "the connection ends in order")
			require.Empty(t, rest)
			require.Equal(t, ownAnswer{conn.LocalAddr().String(), c.code}, <-answers)
			require.Empty(t, answers, "it is counted once")
		})
	}
}

func TestAHandlersAnswerIsItsOwn(t *testing.T) {
	addr, answers := startHeaderServer(t)
	conn := dial(t, addr)
	_, err := fmt.Fprint(conn, "POST /like-net-http HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	require.NoError(t, err)
	all, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(all), "text/plain; charset=utf-8")
	require.Contains(t, string(all), "HTTP/1.1 417")
	require.Empty(t, answers)
}
