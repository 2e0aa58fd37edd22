package receiver_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack/receiver"
)

type service struct {
	t   *testing.T
	url string
}

func start(t *testing.T) service {
	t.Helper()
	noon := time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)
	server := httptest.NewServer(receiver.New(func() time.Time { return noon }).Handler())
	t.Cleanup(server.Close)
	return service{t, server.URL}
}

func (s service) post(key, body string) (status int, replayed bool, answer string) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+receiver.Path, strings.NewReader(body))
	require.NoError(s.t, err)
	request.Header.Set("Idempotency-Key", key)
	request.Header.Set("Oncehook-Correlation-Id", "c-1")
	response, err := http.DefaultClient.Do(request)
	require.NoError(s.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	return response.StatusCode, response.Header.Get(receiver.HeaderReplayed) == "true", string(content)
}

func (s service) get(path string) string {
	s.t.Helper()
	response, err := http.Get(s.url + path)
	require.NoError(s.t, err)
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	require.NoError(s.t, err)
	require.Equal(s.t, http.StatusOK, response.StatusCode)
	return string(content)
}

func (s service) summary() receiver.Summary {
	s.t.Helper()
	var summary receiver.Summary
	require.NoError(s.t, json.Unmarshal([]byte(s.get(receiver.Path)), &summary))
	return summary
}

func TestACopyGetsTheFirstAnswerAgainAndIsCounted(t *testing.T) {
	t.Parallel()
	s := start(t)
	status, replayed, first := s.post("key-1", `{"invoice":"in_1"}`)
	require.Equal(t, http.StatusCreated, status)
	require.False(t, replayed)
	for range 3 {
		status, replayed, again := s.post("key-1", `{"invoice":"in_1"}`)
		require.Equal(t, http.StatusCreated, status)
		require.True(t, replayed)
		require.Equal(t, first, again)
	}
	status, _, _ = s.post("key-1", `{"invoice":"in_2"}`)
	require.Equal(t, http.StatusUnprocessableEntity, status, "the same key with another body")
	_, _, second := s.post("key-2", `{"invoice":"in_2"}`)
	require.NotEqual(t, first, second)

	summary := s.summary()
	require.Equal(t, 2, summary.Total)
	require.Equal(t, 3, summary.Replays)
	require.Equal(t, "key-2", summary.Notices[0].IdempotencyKey, "newest first")
	require.Equal(t, 3, summary.Notices[1].Replays)
	require.Equal(t, "c-1", summary.Notices[1].CorrelationID)
	require.JSONEq(t, `{"invoice":"in_1"}`, string(summary.Notices[1].Body))
}

func TestWhatIsNoNoticeIsRefused(t *testing.T) {
	t.Parallel()
	s := start(t)
	for name, c := range map[string]struct {
		key, body string
		status    int
	}{
		"no key":     {"", `{}`, http.StatusBadRequest},
		"a long key": {strings.Repeat("k", 256), `{}`, http.StatusBadRequest},
		"no JSON":    {"key-1", `{`, http.StatusBadRequest},
		"too large":  {"key-1", `"` + strings.Repeat("x", receiver.MaxBody) + `"`, http.StatusRequestEntityTooLarge},
	} {
		status, _, _ := s.post(c.key, c.body)
		require.Equal(t, c.status, status, name)
	}
	require.Zero(t, s.summary().Total)
}

func TestThePageShowsNoticesAsText(t *testing.T) {
	t.Parallel()
	s := start(t)
	require.Contains(t, s.get("/"), "oncehook send stripe invoice.paid")
	s.post("key-1", `{"note":"<script>alert(1)</script>"}`)
	page := s.get("/")
	require.Contains(t, page, "key-1")
	require.NotContains(t, page, "<script>")
}

func TestTheOldestNoticesAreForgotten(t *testing.T) {
	t.Parallel()
	s := start(t)
	for n := range receiver.MaxNotices + 5 {
		s.post(fmt.Sprint("key-", n), `{}`)
	}
	summary := s.summary()
	require.Len(t, summary.Notices, receiver.MaxNotices)
	require.Equal(t, receiver.MaxNotices+5, summary.Total)
	_, replayed, _ := s.post("key-0", `{}`)
	require.False(t, replayed)
	_, replayed, _ = s.post(fmt.Sprint("key-", receiver.MaxNotices), `{}`)
	require.True(t, replayed)
}
