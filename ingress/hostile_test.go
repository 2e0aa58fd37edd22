package ingress_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/providertest"
)

// answered requires that an answer is one of the contract's: never a 5xx, and
// every 2xx has its receipt and payload.
func (s *system) answered(a answer, what string) {
	s.t.Helper()
	if a.status == http.StatusAccepted || a.status == http.StatusOK {
		require.Equal(s.t, 1, s.number(`SELECT count(*) FROM oncehook.receipts r JOIN oncehook.payloads p ON p.delivery_id = r.id WHERE r.id = $1`, a.text("receipt_id")), what)
		return
	}
	code := oncehook.Code(a.text("code"))
	require.Contains(s.t, []int{400, 401, 403, 404, 405, 408, 409, 413, 415, 422, 429, 431}, a.status, "%s: %s", what, a.body)
	require.NotEmpty(s.t, code, what)
	require.Equal(s.t, code.Status(), a.status, what)
	require.Equal(s.t, "application/problem+json", a.header.Get("Content-Type"), what)
	require.NotContains(s.t, a.body, providertest.Marker, what)
}

func TestAnyBytesGetAnAnswerOfTheContract(t *testing.T) {
	t.Parallel()
	s := start(t)
	bodies := providertest.HostileBodies()
	for _, id := range []string{
		`\u0000`, `\ud800`, `\udfff\ud800`, `\ud83d\ude00`, " ", `\n`, `\u202e`, "../../x", "a:b", "~k", "~41", "%00", "'; DROP TABLE oncehook.receipts; --", `\"\\\/`,
		strings.Repeat("x", 1000), strings.Repeat("é", 500), strings.Repeat("x", 1001), strings.Repeat(`\u0001`, 1000), "\x7f", "\u2028", "\ufeff", "\ufffd", "\U0010ffff",
	} {
		bodies = append(bodies, event(id), event("by-tenant", "north", id), event("by-type", arrival, id), event("by-subject", "shipment-1", id), event("by-field", "depot-1", id), event("by-time", "2026-11-30T10:00:00Z", id))
	}
	for _, value := range []string{
		"1152921506151679042", "-0", "1e400", "1E-400", "123456789012345678901234567890.123456789", "true", "[]", "{}", `{"a":1,"a":2}`, `["\u0000","\ud800"]`,
		strings.Repeat("[", 9_000) + strings.Repeat("]", 9_000), `"` + strings.Repeat("x", 60_000) + `"`,
	} {
		bodies = append(bodies, event("by-value", `"depot-1"`, value), event("by-subject-value", `"shipment-1"`, value), event("by-id-value", `"by-id-value"`, value))
	}
	for _, text := range []string{"0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59-23:59", "0001-01-02T00:00:00+23:59", "2026-02-30T00:00:00Z", "2026-06-30T23:59:60Z", "1969-12-31T23:59:59Z"} {
		bodies = append(bodies, event("at-"+text, "2026-11-30T10:00:00Z", text))
	}
	for n, body := range bodies {
		for _, source := range []string{"logistics", "any%20thing"} {
			s.answered(s.post(source, body, bearerOf(otherToken)), fmt.Sprintf("%s body %d %.60q", source, n, body))
		}
	}
}

func TestAnyHeaderGetsAnAnswerOfTheContract(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, value := range append(providertest.HostileHeaders(), "\xff\xfe", "\x80", "a,b;c=\"", strings.Repeat(",", 2000)) {
		if strings.ContainsAny(value, "\x00\x7f") || strings.TrimSpace(value) != value {
			continue // net/http sends no such value; TestAnyRequestBytesGetAnAnswerOfTheContract does
		}
		for _, name := range []string{"Authorization", "Content-Type", "Content-Encoding", "X-Forwarded-For", "X-Forwarded-Proto", "Traceparent", "X-Http-Method-Override", "Accept", "Cookie", "Expect"} {
			s.answered(s.post("logistics", event("by-header"), header(name, value)), fmt.Sprintf("%s: %.60q", name, value))
		}
	}
}

func TestAnyPathGetsAnAnswerOfTheContract(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, path := range []string{
		"/", "", "//", "/hooks", "/hooks/", "/hooks//", "/hooks//logistics", "/hooks/../hooks/logistics", "/hooks/./logistics", "/hooks/%00", "/hooks/%FF%FE", "/hooks/%2e%2e%2f", "/hooks/logistics%00",
		"/hooks/logistics%2f", "/hooks/logistics;a=b", "/hooks/" + strings.Repeat("a", 4000), "/hooks/:source", "/hooks/*", "/HOOKS/logistics", "/hooks/any%252520thing", "/favicon.ico", "/hooks/%E2%80%AE",
	} {
		a := s.post("", event("by-path"), func(r *http.Request) { r.URL = rawURL(t, s.url, path) })
		require.Equal(t, http.StatusNotFound, a.status, path)
		s.answered(a, path)
	}
	for _, query := range []string{"?", "?\xff", "?a=b;c=d&%zz", "?" + strings.Repeat("x", 4000)} {
		a := s.post("", event("by-query"), func(r *http.Request) { r.URL = rawURL(t, s.url, "/hooks/logistics"); r.URL.RawQuery = query[1:] })
		require.Less(t, a.status, 300, query)
		s.answered(a, query)
	}
}

// rawURL keeps the path as it is.
func rawURL(t *testing.T, base, path string) *url.URL {
	t.Helper()
	u, err := url.Parse(base)
	require.NoError(t, err)
	u.Opaque = "//" + u.Host + path
	return u
}

func TestAnyRequestBytesGetAnAnswerOfTheContract(t *testing.T) {
	t.Parallel()
	s := start(t)
	head := "POST /hooks/logistics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
	for name, text := range map[string]string{
		"NUL in a header":         head + "X-A: \x00\r\n\r\n",
		"DEL in a header":         head + "Authorization: \x7f\r\n\r\n",
		"high bytes in a header":  head + "Authorization: Bearer \xff\xfe\r\nContent-Type: application/json\r\nContent-Length: 0\r\n\r\n",
		"two lengths":             head + "Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
		"length and chunks":       head + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\nContent-Type: application/json\r\n\r\n0\r\n\r\n",
		"negative length":         head + "Content-Length: -1\r\n\r\n",
		"huge length":             head + "Content-Type: application/json\r\nContent-Length: 9223372036854775807\r\n\r\n",
		"length beyond an int64":  head + "Content-Length: 99999999999999999999\r\n\r\n",
		"a header without colon":  head + "nonsense\r\n\r\n",
		"a method of bytes":       "\xff\xff /hooks/logistics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"no host":                 "POST /hooks/logistics HTTP/1.1\r\nConnection: close\r\n\r\n",
		"a path of bytes":         "POST /hooks/\xff\xfe HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"a path with bad escapes": "POST /hooks/%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"CONNECT":                 "CONNECT x:1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n",
		"HTTP/1.0":                "POST /hooks/logistics HTTP/1.0\r\n\r\n",
		"nonsense":                "\x16\x03\x01\x02\x00\x01\r\n\r\n",
		"HTTP/2 upgrade":          "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
		"a transfer coding":       head + "Transfer-Encoding: gzip\r\n\r\n",
		"a large header":          head + "X-A: " + strings.Repeat("x", 80<<10) + "\r\n\r\n",
		"an expectation":          head + "Expect: anything\r\nContent-Length: 5\r\n\r\n",
	} {
		s.answered(s.raw(text), name)
	}
	for _, code := range []oncehook.Code{oncehook.CodeMalformedRequest, oncehook.CodeHeaderTooLarge, oncehook.CodeContentEncodingUnsupported} {
		s.counted("", oncehook.Unauthenticated, string(code))
	}
	s.acceptedAs(s.post("logistics", event("afterwards")), oncehook.Accepted)
}

func FuzzBody(f *testing.F) {
	s := start(f)
	for _, body := range append(providertest.HostileBodies(), event("seed")) {
		if len(body) < 4096 {
			f.Add(body)
		}
	}
	f.Fuzz(func(t *testing.T, body string) {
		s := *s
		s.t = t
		s.answered(s.post("any%20thing", body), fmt.Sprintf("%.100q", body))
	})
}
