package ingress_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

func TestAFirstDeliveryIsAccepted(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
	require.Equal(t, "logistics:north:e1", a.text("event_key"))
	for table, query := range map[string]string{
		"key":     `SELECT count(*) FROM oncehook.event_keys WHERE key = $1 AND receipt_id = $2`,
		"receipt": `SELECT count(*) FROM oncehook.receipts WHERE key = $1 AND id = $2 AND state = 'received' AND event_id = 'e1' AND subject = 'shipment-1' AND workflow = 'ShipmentDepotArrival'`,
		"outbox":  `SELECT count(*) FROM oncehook.outbox WHERE $1 <> '' AND receipt_id = $2`,
		"payload": `SELECT count(*) FROM oncehook.payloads WHERE $1 <> '' AND delivery_id = $2`,
		"history": `SELECT count(*) FROM oncehook.receipt_history WHERE $1 <> '' AND receipt_id = $2`,
		"audit":   `SELECT count(*) FROM oncehook.audit WHERE $1 <> '' AND receipt_id = $2 AND outcome = 'accepted' AND principal = 'sender' AND credential_version = '1' AND tenant = 'north' AND peer = '127.0.0.1'`,
	} {
		require.Equal(t, 1, s.number(query, a.text("event_key"), a.text("receipt_id")), table)
	}
}

func TestACopyIsADuplicateWhateverIsOutsideTheFingerprint(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
	for name, again := range map[string]answer{
		"the same":         s.post("logistics", event("e1")),
		"other headers":    s.post("logistics", event("e1"), header("X-Attempt", "7"), header("User-Agent", "another")),
		"an added field":   s.post("logistics", event("e1", `"depot_id"`, `"note":{"a":1,"a":2},"depot_id"`)),
		"other form":       s.post("logistics", " "+event("e1", ",", " ,\n", "10:00:00Z", "12:00:00+02:00")),
		"other media type": s.post("logistics", event("e1"), header("Content-Type", "application/cloudevents+json; charset=utf-8; v=\"1;2\"")),
		"another sender":   s.post("logistics", event("e1"), bearerOf(otherToken)),
	} {
		s.acceptedAs(again, oncehook.Duplicate)
		for _, field := range []string{"event_key", "receipt_id", "correlation_id"} {
			require.Equal(t, first.text(field), again.text(field), name)
		}
	}
	require.Equal(t, 6, s.number(`SELECT duplicates FROM oncehook.delivery_counts WHERE receipt_id = $1`, first.text("receipt_id")))
	require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.receipts`))
	require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.outbox`))
}

func TestAChangedBusinessFieldIsAConflict(t *testing.T) {
	t.Parallel()
	s := start(t)
	first := s.acceptedAs(s.post("logistics", event("e1", "depot-1", "confidential-depot")), oncehook.Accepted)
	for _, changed := range []string{
		event("e1"), event("e1", "shipment-1", "shipment-2", "depot-1", "confidential-depot"),
		event("e1", "10:00:00Z", "10:00:00.000000001Z", "depot-1", "confidential-depot"),
		event("e1", arrival, "shipment.weighed", "depot-1", "confidential-depot"),
	} {
		a := s.refusedWith(s.post("logistics", changed), http.StatusConflict, oncehook.CodeEventConflict)
		require.NotContains(t, a.body, "confidential")
	}
	require.Equal(t, 4, s.number(`SELECT count(*) FROM oncehook.conflicts WHERE receipt_id = $1`, first.text("receipt_id")))
	require.Equal(t, 5, s.number(`SELECT count(*) FROM oncehook.payloads`), "both bodies are kept")
	require.Equal(t, 4, s.number(`SELECT count(*) FROM oncehook.audit WHERE outcome = 'conflict'`))
	require.Contains(t, s.log.String(), `"code":"event_conflict"`)
	s.acceptedAs(s.post("logistics", event("e1", "depot-1", "confidential-depot")), oncehook.Duplicate)
}

func TestAnUnprovenRequestIs401AndCountedInSum(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, change := range map[string]request{
		"no token":        header("Authorization"),
		"wrong token":     bearerOf("nonsense-nonsense"),
		"malformed token": header("Authorization", "Basic eDp5"),
		"two tokens":      header("Authorization", "Bearer "+token, "Bearer "+token),
	} {
		t.Run(name, func(t *testing.T) {
			for _, body := range []string{event("e1"), "{", "", "\x00\xff", `{"id":1}`} {
				a := s.refusedWith(s.post("logistics", body, change), http.StatusUnauthorized, oncehook.CodeUnauthenticated)
				require.Equal(t, "Bearer", a.header.Get("WWW-Authenticate"))
				require.Equal(t, "the credential is missing or wrong", a.text("detail"), "nothing of the cause or the body is told")
			}
		})
	}
	for _, cause := range []oncehook.Cause{oncehook.CauseCredentialMissing, oncehook.CauseWrongSecret, oncehook.CauseCredentialMalformed} {
		s.counted("logistics", oncehook.Unauthenticated, string(cause))
	}
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.event_keys`))
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.audit`))
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.rejected_deliveries`))
}

func TestAnUnknownSourceIs404AndAnotherMethod405(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, path := range []string{"nobody", "", "logistics/", "logistics/x", "Logistics", "%00", "%FF", "..%2Flogistics", "logistics%2F", "%2e%2e", "any%2Bthing", "any+thing"} {
		s.refusedWith(s.post(path, event("e1")), http.StatusNotFound, oncehook.CodeSourceUnknown)
	}
	s.counted("", oncehook.Unauthenticated, "source_unknown")
	for _, m := range []string{http.MethodGet, http.MethodPut, http.MethodDelete, http.MethodPatch, http.MethodOptions, http.MethodTrace, "PROPFIND", "BREW"} {
		a := s.refusedWith(s.post("logistics", "", method(m)), http.StatusMethodNotAllowed, oncehook.CodeMethodNotAllowed)
		require.Equal(t, "POST", a.header.Get("Allow"))
		s.refusedWith(s.post("nobody", "", method(m)), http.StatusNotFound, oncehook.CodeSourceUnknown)
	}
	s.counted("logistics", oncehook.Unauthenticated, "method_not_allowed")
	require.NotContains(t, s.log.String(), "nobody", "a stranger's path is not logged")
}

func TestASourceIsFoundByItsEscapedName(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, path := range []string{"any%20thing", "%61ny%20thing"} {
		a := s.acceptedAs(s.post(path, `{"id":"`+path+`","type":"whatever"}`), oncehook.Accepted)
		require.True(t, strings.HasPrefix(a.text("event_key"), "any~20thing:north:"), a.body)
	}
}

func TestATenantOutsideThePrincipalsScopeIs403(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.refusedWith(s.post("logistics", event("e1", "north", "south")), http.StatusForbidden, oncehook.CodeTenantForbidden)
	require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.audit WHERE outcome = 'tenant_forbidden' AND principal = 'sender' AND tenant = 'south' AND correlation_id = $1`, a.text("correlation_id")))
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.event_keys`))
	s.acceptedAs(s.post("logistics", event("e1", "north", "south"), bearerOf(otherToken)), oncehook.Accepted)
}

func TestARecognizedTypeWithoutAWorkflowEndsIgnored(t *testing.T) {
	t.Parallel()
	s := start(t)
	a := s.acceptedAs(s.post("logistics", event("e1", arrival, "shipment.weighed")), oncehook.Accepted)
	require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.receipts WHERE id = $1 AND state = 'ignored' AND workflow IS NULL`, a.text("receipt_id")))
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.outbox`))
}

func TestWhatIsNoEventIsRejectedAndKept(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, c := range map[string]struct {
		body  string
		code  oncehook.Code
		field string
	}{
		"malformed JSON":    {"{", oncehook.CodeMalformedJSON, ""},
		"empty":             {"", oncehook.CodeMalformedJSON, ""},
		"null":              {"null", oncehook.CodeMalformedJSON, ""},
		"non-object":        {"[]", oncehook.CodeMalformedJSON, ""},
		"missing field":     {event("e1", "depot_id", "depot"), oncehook.CodeFieldMissing, "depot_id"},
		"empty field":       {event("e1", "depot-1", ""), oncehook.CodeFieldMissing, "depot_id"},
		"missing id":        {event("e1", `"id"`, `"no"`), oncehook.CodeFieldMissing, "id"},
		"number id":         {event("e1", `"e1"`, "12345678901234567890"), oncehook.CodeFieldInvalid, "id"},
		"NUL in id":         {event(`e\u0000`), oncehook.CodeFieldInvalid, "id"},
		"ambiguous id":      {event("e1", `"id"`, `"ID":"x","id"`), oncehook.CodeFieldAmbiguous, "id"},
		"long id":           {event(strings.Repeat("x", 1001)), oncehook.CodeIDTooLong, "id"},
		"unrecognized type": {event("e1", arrival, "shipment.lost"), oncehook.CodeTypeUnrecognized, "type"},
		"no tenant":         {event("e1", `"tenant"`, `"t"`), oncehook.CodeTenantMissing, "tenant"},
	} {
		t.Run(name, func(t *testing.T) {
			a := s.refusedWith(s.post("logistics", c.body, header("X-Seen", "\xff")), c.code.Status(), c.code)
			require.Contains(t, a.text("detail"), c.field)
			require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.rejected_deliveries WHERE id = $1 AND code = $2 AND coalesce(field, '') = $3 AND principal = 'sender'`,
				a.text("correlation_id"), string(c.code), c.field))
			require.Equal(t, 1, s.number(`SELECT count(*) FROM oncehook.audit WHERE delivery_id = $1 AND outcome = 'rejected' AND cause = $2`, a.text("correlation_id"), string(c.code)))
		})
	}
	// A tenant too long for a key passes only a principal of all tenants.
	s.refusedWith(s.post("logistics", event("e1", "north", strings.Repeat("t", 81)), bearerOf(otherToken)), http.StatusUnprocessableEntity, oncehook.CodeFieldInvalid)
	require.Zero(t, s.number(`SELECT count(*) FROM oncehook.event_keys`))
}

func TestABodyOverTheLimitIs413(t *testing.T) {
	t.Parallel()
	s := start(t)
	large := event("e1", `"id"`, `"note":"`+strings.Repeat("x", 64<<10)+`","id"`)
	s.refusedWith(s.post("logistics", large), http.StatusRequestEntityTooLarge, oncehook.CodeBodyTooLarge)
	chunked := func(r *http.Request) {
		r.Body, r.ContentLength = io.NopCloser(struct{ io.Reader }{strings.NewReader(large)}), -1
	}
	s.refusedWith(s.post("logistics", "", chunked), http.StatusRequestEntityTooLarge, oncehook.CodeBodyTooLarge)
	// Without authentication too, and without waiting for the body.
	a := s.raw("POST /hooks/logistics HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 9999999\r\n\r\n")
	require.Equal(t, http.StatusRequestEntityTooLarge, a.status)
	s.counted("logistics", oncehook.Unauthenticated, "body_too_large")
	exact := event("e1", `"id"`, `"note":"`+strings.Repeat("x", 64<<10-len(event("e1"))-len(`"note":"",`))+`","id"`)
	require.Len(t, exact, 64<<10)
	s.acceptedAs(s.post("logistics", exact), oncehook.Accepted)
}

func TestAnotherMediaTypeOrEncodingIs415(t *testing.T) {
	t.Parallel()
	s := start(t)
	for _, values := range [][]string{nil, {""}, {"text/plain"}, {"application/x-www-form-urlencoded"}, {"json"}, {"+json"}, {"/json"}, {"application/jsonx"}, {"\xff"}, {"application/json", "application/json"}} {
		s.refusedWith(s.post("logistics", event("e1"), header("Content-Type", values...)), http.StatusUnsupportedMediaType, oncehook.CodeContentTypeUnsupported)
	}
	for _, value := range []string{"gzip", "br", "identity, gzip", "x-\xff"} {
		s.refusedWith(s.post("logistics", event("e1"), header("Content-Encoding", value)), http.StatusUnsupportedMediaType, oncehook.CodeContentEncodingUnsupported)
	}
	s.counted("logistics", oncehook.Unauthenticated, "content_type_unsupported")
	s.counted("logistics", oncehook.Unauthenticated, "content_encoding_unsupported")
	s.acceptedAs(s.post("logistics", event("e1"), header("Content-Encoding", "Identity"), header("Content-Type", "Application/JSON;charset=\"")), oncehook.Accepted)
}

func TestASlowBodyIs408(t *testing.T) {
	t.Parallel()
	s := start(t, func(s *setup) { s.Timeouts.Body = 150 * time.Millisecond })
	head := "POST /hooks/logistics HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + token + "\r\n"
	for name, text := range map[string]string{
		"with a length": head + "Content-Length: 100\r\n\r\n{\"id\"",
		"in chunks":     head + "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"id\"",
		"no byte of it": head + "Content-Length: 100\r\n\r\n",
	} {
		a := s.raw(text)
		require.Equal(t, http.StatusRequestTimeout, a.status, name)
		require.Equal(t, "request_timeout", a.text("code"))
		require.Equal(t, true, a.fields["retryable"])
	}
	s.counted("logistics", oncehook.Unauthenticated, "request_timeout")
	// Who is refused before the body is read does not hold a connection with it.
	for path, status := range map[string]int{"/hooks/nobody": http.StatusNotFound, "/hooks/logistics": http.StatusUnsupportedMediaType} {
		require.Equal(t, status, s.raw("POST "+path+" HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n").status)
	}
	// A sender may think between requests longer than a body may take.
	s.acceptedAs(s.post("logistics", event("e1")), oncehook.Accepted)
}

func TestABrokenBodyIs400(t *testing.T) {
	t.Parallel()
	s := start(t)
	head := "POST /hooks/logistics HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nAuthorization: Bearer " + token + "\r\n"
	require.Equal(t, http.StatusBadRequest, s.raw(head+"Transfer-Encoding: chunked\r\n\r\nzz\r\n").status)
}

// raw writes bytes to a connection and reads one answer, and then the connection's end.
func (s *system) raw(text string) answer {
	s.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	require.NoError(s.t, err)
	defer func() { _ = conn.Close() }()
	require.NoError(s.t, conn.SetDeadline(time.Now().Add(20*time.Second)))
	_, err = fmt.Fprint(conn, text)
	require.NoError(s.t, err)
	reader := bufio.NewReader(conn)
	response, err := http.ReadResponse(reader, nil)
	require.NoError(s.t, err)
	body, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	a := answer{status: response.StatusCode, header: response.Header, body: string(body)}
	_ = json.Unmarshal(body, &a.fields)
	if response.Close {
		_, err = reader.ReadByte()
		require.Error(s.t, err, "the connection goes on after the answer")
	}
	return a
}
