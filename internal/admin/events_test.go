package admin_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/admin"
)

// The fields that the contract spells; more may be added, none taken away.
const (
	eventFields      = "event_key receipt_id event_id source tenant type state status first_seen"
	receiptFields    = "event_key receipt_id source tenant event_id type state status version deliveries first_seen last_seen correlation_id workflow_id run_id run_no"
	decisionFields   = "outcome principal credential_version tenant at transaction_id count"
	transitionFields = "from to at cause actor"
	traceFields      = "receipt decisions transitions actions"
)

func requireFields(t *testing.T, object any, fields string) map[string]any {
	t.Helper()
	have, ok := object.(map[string]any)
	require.True(t, ok)
	for name := range strings.FieldsSeq(fields) {
		require.Contains(t, have, name)
	}
	return have
}

func one(t *testing.T, list any) any {
	t.Helper()
	require.Len(t, list, 1)
	return list.([]any)[0]
}

func TestAnswersHaveTheContractsFields(t *testing.T) {
	t.Parallel()
	r, url := serveMigrated(t)
	event := accept(t, url, "logistics", "north", "event-1")
	path := "/api/v1/events/" + event.ReceiptID.String()

	list := requireFields(t, r.get(t, "/api/v1/events").object(t), "events next_cursor")
	summary := requireFields(t, one(t, list["events"]), eventFields)
	require.Equal(t, string(event.Key), summary["event_key"])
	require.Equal(t, "received", summary["status"])
	require.Empty(t, list["next_cursor"])

	receipt := requireFields(t, r.get(t, path).object(t), receiptFields)
	require.Equal(t, event.ReceiptID.String(), receipt["receipt_id"])
	require.Equal(t, string(event.Key), receipt["workflow_id"])
	require.Nil(t, receipt["run_id"])
	require.EqualValues(t, 1, receipt["deliveries"])
	require.Equal(t, false, receipt["unordered"])

	trace := requireFields(t, r.get(t, path+"/trace").object(t), traceFields)
	require.Equal(t, receipt, trace["receipt"])
	decision := requireFields(t, one(t, trace["decisions"]), decisionFields)
	require.Equal(t, "sender", decision["principal"])
	require.EqualValues(t, 1, decision["count"])
	transition := requireFields(t, one(t, trace["transitions"]), transitionFields)
	require.Nil(t, transition["from"])
	require.Equal(t, "received", transition["to"])
	require.Empty(t, trace["actions"])
	require.Equal(t, uiURL+"/namespaces/default/workflows/logistics:north:event-1", trace["temporal_ui_url"])

	found := requireFields(t, r.get(t, "/api/v1/lookup?q=event-1").object(t), "events next_cursor")
	require.Equal(t, summary, one(t, found["events"]))
	require.Equal(t, []any{}, r.get(t, "/api/v1/lookup?q=event-2").object(t)["events"])
}

func TestListsAreReadInPages(t *testing.T) {
	t.Parallel()
	r, url := serveMigrated(t)
	for _, id := range []string{"a", "b", "c"} {
		accept(t, url, "logistics", "north", id)
	}
	var seen []any
	target := "/api/v1/events?limit=2&source=logistics"
	for range 2 {
		page := r.get(t, target).object(t)
		for _, e := range page["events"].([]any) {
			seen = append(seen, e.(map[string]any)["event_id"])
		}
		target = "/api/v1/events?limit=2&source=logistics&cursor=" + page["next_cursor"].(string)
	}
	require.Equal(t, []any{"c", "b", "a"}, seen)
}

func TestAnyBytesInAParameterGetAnAnswerOfTheirOwn(t *testing.T) {
	t.Parallel()
	r, _ := serveMigrated(t)
	for _, target := range []string{
		"/api/v1/events?limit=0", "/api/v1/events?limit=501", "/api/v1/events?limit=many", "/api/v1/events?state=done", "/api/v1/events?state=",
		"/api/v1/events?cursor=x", "/api/v1/events?tenant=%00", "/api/v1/events?type=%ff", "/api/v1/events?source=a&source=b",
		"/api/v1/lookup", "/api/v1/lookup?q=", "/api/v1/lookup?q=" + strings.Repeat("x", 1001),
		"/api/v1/rejected?limit=0", "/api/v1/rejected?since=yesterday", "/api/v1/rejected?cursor=x", "/api/v1/rejected?code=%00", "/api/v1/rejected/nonsense",
		"/api/v1/refusals?since=2001-02-03T04:05:06Z", "/api/v1/refusals?since=now", "/api/v1/refusals?source=%ff",
		"/api/v1/events/nonsense", "/api/v1/events/nonsense/trace", "/api/v1/events/%00/trace",
	} {
		r.get(t, target).problem(t, http.StatusUnprocessableEntity, oncehook.CodeFieldInvalid)
	}
	for _, q := range []string{"\x00", "\xff\xfe", "' OR true --", "a\u202eb", strings.Repeat("é", 500)} {
		require.Equal(t, http.StatusOK, r.get(t, "/api/v1/lookup?q="+url.QueryEscape(q)).status, "%q", q)
	}
	r.get(t, "/api/v1/rejected/"+uuid.NewString()).problem(t, http.StatusNotFound, oncehook.CodeNotFound)
	r.get(t, "/api/v1/events/"+uuid.NewString()).problem(t, http.StatusNotFound, oncehook.CodeNotFound)
	r.get(t, "/api/v1/events/"+uuid.NewString()+"/trace").problem(t, http.StatusNotFound, oncehook.CodeNotFound)
}

func TestAnOperatorSeesTheOwnScopeOnly(t *testing.T) {
	t.Parallel()
	r, dsn := serveMigrated(t)
	north, south := accept(t, dsn, "logistics", "north", "same"), accept(t, dsn, "logistics", "south", "same")
	db, err := pgx.Connect(t.Context(), dsn)
	require.NoError(t, err)
	defer db.Close(context.Background())
	_, err = db.Exec(t.Context(), `UPDATE oncehook.operators SET tenants = '{south}'`)
	require.NoError(t, err)
	require.Len(t, r.get(t, "/api/v1/events").object(t)["events"], 1)
	require.Len(t, r.get(t, "/api/v1/lookup?q=same").object(t)["events"], 1)
	require.Equal(t, http.StatusOK, r.get(t, "/api/v1/events/"+south.ReceiptID.String()+"/trace").status)
	r.get(t, "/api/v1/events/"+north.ReceiptID.String()+"/trace").problem(t, http.StatusNotFound, oncehook.CodeNotFound)
}

func TestWithoutPostgreSQLThereIsAnAnswer(t *testing.T) {
	t.Parallel()
	r := serve(t, "postgres://nobody@127.0.0.1:1/none")
	answer := r.get(t, "/api/v1/events")
	p := answer.problem(t, http.StatusServiceUnavailable, oncehook.CodeUnavailable)
	require.Equal(t, true, p["retryable"])
	require.NotEmpty(t, answer.header.Get("Retry-After"))
	require.NotContains(t, string(answer.body), "127.0.0.1", "where the database is concerns nobody")
	r.do(t, http.MethodGet, "/api/v1/events").problem(t, http.StatusUnauthorized, oncehook.CodeUnauthenticated)

	require.Equal(t, "ok", r.do(t, http.MethodGet, "/livez").object(t)["status"])
	ready := r.do(t, http.MethodGet, "/readyz")
	require.Equal(t, http.StatusOK, ready.status, "a degraded process still answers what it can")
	require.Equal(t, "degraded", ready.object(t)["status"])
}

func TestADatabaseThatHangsDoesNotHangReadiness(t *testing.T) {
	t.Parallel()
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	r := serve(t, "postgres://nobody@"+silent.Addr().String()+"/none?connect_timeout=30")
	began := time.Now()
	var strangers errgroup.Group // they share one question to the database
	for range 8 {
		strangers.Go(func() error {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, r.url+"/readyz", nil)
			if err != nil {
				return err
			}
			answer, err := http.DefaultTransport.RoundTrip(request)
			if err != nil {
				return err
			}
			defer func() { _ = answer.Body.Close() }()
			body, err := io.ReadAll(answer.Body)
			if err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(body), "degraded") {
				return fmt.Errorf("answered %d %s, %w", answer.StatusCode, body, err)
			}
			return nil
		})
	}
	require.NoError(t, strangers.Wait())
	require.Less(t, time.Since(began), 20*time.Second, "long before the connection would give up")
}

func TestAProcessThatShouldGetNoTrafficIsNotReady(t *testing.T) {
	t.Parallel()
	r, _ := serveMigrated(t, func(c *admin.Config) {
		c.Ready = func(context.Context) error { return errors.New("schema of host db.internal") }
	})
	ready := r.do(t, http.MethodGet, "/readyz")
	require.Equal(t, http.StatusServiceUnavailable, ready.status)
	require.JSONEq(t, `{"status":"unavailable"}`, string(ready.body), "the reason is for the log")
}
