package admin_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	commonpb "go.temporal.io/api/common/v1"
	"go.temporal.io/sdk/converter"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/admin"
	"github.com/oncehook/oncehook/internal/codec"
	"github.com/oncehook/oncehook/internal/store"
)

const (
	uiOrigin   = "http://temporal.test"
	decodePath = "/api/v1/codec/decode"
	canary     = "canary-7c1f of tenant north"
)

func connectTo(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	db, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	t.Cleanup(func() { _ = db.Close(context.Background()) })
	return db
}

func ownCodec() *codec.Codec { return codec.New(keys(), "default") }

func serveCodec(t *testing.T, change ...func(*admin.Config)) (running, string) {
	t.Helper()
	return serveMigrated(t, append([]func(*admin.Config){func(c *admin.Config) { c.Codec = ownCodec() }}, change...)...)
}

// post sends payloads as Temporal's tools do.
func (r running) post(t *testing.T, target string, header map[string]string, payloads ...*commonpb.Payload) reply {
	t.Helper()
	body, err := protojson.Marshal(&commonpb.Payloads{Payloads: payloads})
	require.NoError(t, err)
	return r.request(t, http.MethodPost, target, header, body)
}

func (r running) request(t *testing.T, method, target string, header map[string]string, body []byte) reply {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, r.url+target, bytes.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		request.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	require.NoError(t, err)
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return reply{response.StatusCode, response.Header, answer}
}

func (r running) bearer() map[string]string {
	return map[string]string{"Authorization": "Bearer " + string(r.token), "X-Namespace": "default"}
}

func payloadsIn(t *testing.T, answer reply) []*commonpb.Payload {
	t.Helper()
	require.Equal(t, http.StatusOK, answer.status, "%s", answer.body)
	var payloads commonpb.Payloads
	require.NoError(t, protojson.Unmarshal(answer.body, &payloads))
	return payloads.GetPayloads()
}

func sealed(t *testing.T, c *codec.Codec, value any) *commonpb.Payload {
	t.Helper()
	payload, err := c.DataConverter().ToPayload(value)
	require.NoError(t, err)
	return payload
}

func TestAnOperatorDecodesAsWithTemporalsOwnRemoteCodec(t *testing.T) {
	t.Parallel()
	r, _ := serveCodec(t)
	// The SDK's own client of the protocol, as the temporal command has it.
	remote := converter.NewRemotePayloadCodec(converter.RemotePayloadCodecOptions{
		Endpoint: r.url + "/api/v1/codec",
		ModifyRequest: func(request *http.Request) error {
			for name, value := range r.bearer() {
				request.Header.Set(name, value)
			}
			return nil
		},
	})
	plain, err := converter.GetDefaultDataConverter().ToPayload(canary)
	require.NoError(t, err)
	encoded, err := remote.Encode([]*commonpb.Payload{plain})
	require.NoError(t, err)
	require.True(t, codec.Encrypted(encoded[0]))
	decoded, err := remote.Decode([]*commonpb.Payload{encoded[0], plain, {}})
	require.NoError(t, err)
	require.Len(t, decoded, 3)
	require.True(t, proto.Equal(plain, decoded[0]))
	require.True(t, proto.Equal(plain, decoded[1]))
}

func TestAPayloadThatDoesNotOpenHidesNoOther(t *testing.T) {
	t.Parallel()
	r, _ := serveCodec(t)
	foreign := sealed(t, codec.New(keys(), "another"), canary)
	decoded := payloadsIn(t, r.post(t, decodePath, r.bearer(), foreign, sealed(t, ownCodec(), canary)))
	require.True(t, proto.Equal(foreign, decoded[0]))
	require.Equal(t, `"`+canary+`"`, string(decoded[1].GetData()))
}

func TestWhoMayNotSeeEverythingDecodesNothing(t *testing.T) {
	t.Parallel()
	r, url := serveCodec(t)
	db := connectTo(t, url)
	payload := sealed(t, ownCodec(), canary)
	for _, test := range []struct {
		change string
		status int
		code   oncehook.Code
	}{
		{`role = 'viewer'`, 403, oncehook.CodeForbidden},
		{`role = 'admin', tenants = '{north}'`, 403, oncehook.CodeForbidden},
		{`tenants = '{*}', sources = '{logistics}'`, 403, oncehook.CodeForbidden},
		{`sources = '{*}', disabled_at = now()`, 401, oncehook.CodeUnauthenticated},
	} {
		_, err := db.Exec(t.Context(), `UPDATE oncehook.operators SET `+test.change)
		require.NoError(t, err)
		for _, target := range []string{decodePath, "/api/v1/codec/encode", "/api/v1/codec/links"} {
			answer := r.post(t, target, r.bearer(), payload)
			answer.problem(t, test.status, test.code)
			require.NotContains(t, string(answer.body), "canary")
		}
	}
	_, err := db.Exec(t.Context(), `UPDATE oncehook.operators SET role = 'operator', disabled_at = NULL`)
	require.NoError(t, err)
	payloadsIn(t, r.post(t, decodePath, r.bearer(), payload))
}

func TestDecodingIsBounded(t *testing.T) {
	t.Parallel()
	r, _ := serveCodec(t)
	other := r.bearer()
	other["X-Namespace"] = "another"
	r.post(t, decodePath, other, sealed(t, ownCodec(), canary)).problem(t, 422, oncehook.CodeFieldInvalid)
	big := []byte(`{"payloads":[{"data":"` + strings.Repeat("A", 9<<20) + `"}]}`)
	r.request(t, http.MethodPost, decodePath, r.bearer(), big).problem(t, 413, oncehook.CodeBodyTooLarge)
	for _, body := range []string{"", "{", "[]", `{"payloads":1}`, `{"payloads":[{"data":"%"}]}`, `{"payloads":[{"metadata":{"encoding":7}}]}`} {
		answer := r.request(t, http.MethodPost, decodePath, r.bearer(), []byte(body))
		require.GreaterOrEqual(t, answer.status, 400, body)
		require.Less(t, answer.status, 500, body)
	}
	form := r.bearer()
	form["Content-Type"] = "text/plain"
	r.request(t, http.MethodPost, decodePath, form, []byte(`{"payloads":[]}`)).problem(t, 415, oncehook.CodeContentTypeUnsupported)
}

func TestOnlyTheTemporalUIsPagesMayReadAnswers(t *testing.T) {
	t.Parallel()
	r, _ := serveCodec(t)
	payload := sealed(t, ownCodec(), canary)
	preflight := func(origin string) reply {
		return r.request(t, http.MethodOptions, decodePath, map[string]string{
			"Origin": origin, "Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,content-type,x-namespace",
		}, nil)
	}
	allowed := preflight(uiOrigin)
	require.Equal(t, http.StatusNoContent, allowed.status)
	require.Equal(t, uiOrigin, allowed.header.Get("Access-Control-Allow-Origin"), "without a trailing slash and the path")
	require.Contains(t, allowed.header.Get("Access-Control-Allow-Headers"), "X-Namespace")
	require.Contains(t, allowed.header.Get("Access-Control-Allow-Methods"), "POST")
	require.Contains(t, allowed.header.Values("Vary"), "Origin")
	for _, origin := range []string{"http://evil.test", "http://temporal.test.evil.test", "https://temporal.test", "http://temporal.test:81", "null", ""} {
		answer := preflight(origin)
		answer.problem(t, 401, oncehook.CodeUnauthenticated)
		require.Empty(t, answer.header.Get("Access-Control-Allow-Origin"), origin)
		header := r.bearer()
		header["Origin"] = origin
		require.Empty(t, r.post(t, decodePath, header, payload).header.Get("Access-Control-Allow-Origin"), origin)
	}
	header := r.bearer()
	header["Origin"] = uiOrigin
	answer := r.post(t, decodePath, header, payload)
	require.Equal(t, uiOrigin, answer.header.Get("Access-Control-Allow-Origin"))
	require.Equal(t, "no-store", answer.header.Get("Cache-Control"))
	// Elsewhere in the API no page of any origin reads anything.
	require.Empty(t, r.request(t, http.MethodGet, "/api/v1/events", header, nil).header.Get("Access-Control-Allow-Origin"))
}

func TestABrowserLeavesTheSchemesOwnPortOut(t *testing.T) {
	t.Parallel()
	for configured, origin := range map[string]string{
		"https://temporal.test:443/ui": "https://temporal.test", "http://temporal.test:80": "http://temporal.test",
		"http://localhost:80": "http://127.0.0.1", "https://temporal.test:8443": "https://temporal.test:8443",
	} {
		r, _ := serveCodec(t, func(c *admin.Config) { c.TemporalUI = configured })
		answer := r.request(t, http.MethodOptions, decodePath, map[string]string{"Origin": origin, "Access-Control-Request-Method": "POST"}, nil)
		require.Equal(t, origin, answer.header.Get("Access-Control-Allow-Origin"), configured)
	}
}

func TestACodecLinkWorksFromTheTemporalUIUntilItEnds(t *testing.T) {
	t.Parallel()
	now := time.Now()
	r, url := serveCodec(t, func(c *admin.Config) { c.Now = func() time.Time { return now } })
	made := r.request(t, http.MethodPost, "/api/v1/codec/links", r.bearer(), nil)
	require.Equal(t, http.StatusOK, made.status, "%s", made.body)
	var link struct {
		Endpoint  string    `json:"endpoint"`
		ExpiresAt time.Time `json:"expires_at"`
	}
	require.NoError(t, json.Unmarshal(made.body, &link))
	require.WithinDuration(t, now.Add(12*time.Hour), link.ExpiresAt, time.Second)

	payload := sealed(t, ownCodec(), canary)
	fromUI := map[string]string{"Origin": uiOrigin, "X-Namespace": "default"}
	// As the UI asks.
	decoded := payloadsIn(t, r.post(t, link.Endpoint+"/decode?preserveStorageRefs=true", fromUI, payload))
	require.Equal(t, `"`+canary+`"`, string(decoded[0].GetData()))
	require.True(t, codec.Encrypted(payloadsIn(t, r.post(t, link.Endpoint+"/encode", fromUI, decoded[0]))[0]))

	for _, header := range map[string]map[string]string{
		"no origin": {}, "another origin": {"Origin": "http://evil.test"},
		"rebound": {"Origin": r.url},
	} {
		r.post(t, link.Endpoint+"/decode", header, payload).problem(t, 401, oncehook.CodeUnauthenticated)
	}
	for _, target := range []string{"", "/", "/links", "/decode/", "/../../events", "/decode/x"} {
		r.post(t, link.Endpoint+target, fromUI, payload).problem(t, 401, oncehook.CodeUnauthenticated)
	}
	r.request(t, http.MethodGet, link.Endpoint+"/decode", fromUI, nil).problem(t, 401, oncehook.CodeUnauthenticated)

	db := connectTo(t, url)
	_, err := db.Exec(t.Context(), `UPDATE oncehook.operators SET disabled_at = now()`)
	require.NoError(t, err)
	r.post(t, link.Endpoint+"/decode", fromUI, payload).problem(t, 401, oncehook.CodeUnauthenticated)
	_, err = db.Exec(t.Context(), `UPDATE oncehook.operators SET disabled_at = NULL, role = 'viewer'`)
	require.NoError(t, err)
	r.post(t, link.Endpoint+"/decode", fromUI, payload).problem(t, 403, oncehook.CodeForbidden)
	_, err = db.Exec(t.Context(), `UPDATE oncehook.operators SET role = 'admin'`)
	require.NoError(t, err)
	payloadsIn(t, r.post(t, link.Endpoint+"/decode", fromUI, payload))
	now = now.Add(12 * time.Hour)
	r.post(t, link.Endpoint+"/decode", fromUI, payload).problem(t, 401, oncehook.CodeUnauthenticated)
}

func TestDecodingIsAuditedBeforeItIsAnswered(t *testing.T) {
	t.Parallel()
	r, url := serveCodec(t)
	db := connectTo(t, url)
	payload := sealed(t, ownCodec(), canary)
	for range 5 {
		payloadsIn(t, r.post(t, decodePath, r.bearer(), payload, payload))
	}
	var actor string
	var rows, count int
	require.NoError(t, db.QueryRow(t.Context(), `SELECT count(*), min(actor), sum(count) FROM oncehook.audit WHERE kind = 'operator' AND outcome = $1`,
		store.OutcomeDecoded).Scan(&rows, &actor, &count))
	require.Equal(t, 5, rows)
	require.Equal(t, 10, count, "of what was answered nothing is missing, were the process killed now")
	require.Equal(t, "admin", actor)

	require.Equal(t, http.StatusOK, r.request(t, http.MethodPost, "/api/v1/codec/links", r.bearer(), nil).status)
	require.NoError(t, db.QueryRow(t.Context(), `SELECT count(*), min(actor) FROM oncehook.audit WHERE kind = 'operator' AND outcome = $1`,
		store.OutcomeLinked).Scan(&rows, &actor))
	require.Equal(t, 1, rows)
	require.Equal(t, "admin", actor)

	// Where nothing can be audited nothing is decoded.
	fresh, freshURL := serveCodec(t)
	_, err := connectTo(t, freshURL).Exec(t.Context(), `ALTER TABLE oncehook.audit RENAME TO audit_away`)
	require.NoError(t, err)
	answer := fresh.post(t, decodePath, fresh.bearer(), payload)
	require.GreaterOrEqual(t, answer.status, 500)
	require.NotContains(t, string(answer.body), "canary")
}

func TestWithoutACodecThereIsNoEndpoint(t *testing.T) {
	t.Parallel()
	r, _ := serveMigrated(t)
	r.post(t, decodePath, r.bearer()).problem(t, 404, oncehook.CodeNotFound)
	r.post(t, "/api/v1/codec/links/x/decode", map[string]string{"Origin": uiOrigin}).problem(t, 401, oncehook.CodeUnauthenticated)
}
