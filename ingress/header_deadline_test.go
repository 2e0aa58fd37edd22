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

	"github.com/oncehook/oncehook/ingress"
)

func startHeaderServer(t *testing.T) (addr string, timeouts chan net.Addr) {
	t.Helper()
	timeouts = make(chan net.Addr, 1)
	deadline := ingress.HeaderDeadline{OnTimeout: func(peer net.Addr) { timeouts <- peer }}
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
			_, _ = io.Copy(io.Discard, r.Body)
			w.WriteHeader(http.StatusNoContent)
		}),
		ReadHeaderTimeout: 100 * time.Millisecond,
		IdleTimeout:       100 * time.Millisecond,
	}
	deadline.Attach(server)
	go func() { _ = server.Serve(deadline.Listen(listener)) }()
	t.Cleanup(func() { _ = server.Close() })
	return listener.Addr().String(), timeouts
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
	addr, timeouts := startHeaderServer(t)
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
	require.Equal(t, conn.LocalAddr().String(), (<-timeouts).String())
}

func TestAnIdleConnectionIsClosedWithoutAnAnswer(t *testing.T) {
	addr, timeouts := startHeaderServer(t)
	conn := dial(t, addr)
	_, err := fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n")
	require.NoError(t, err)

	all, err := io.ReadAll(conn) // to the idle timeout's close
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(all), "HTTP/1.1"), "one answer, to the one request")
	require.Empty(t, timeouts)
}

func TestTheBodyOfAnAnsweredRequestIsNotTakenForAHeader(t *testing.T) {
	addr, timeouts := startHeaderServer(t)
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
	require.Empty(t, timeouts)
}
