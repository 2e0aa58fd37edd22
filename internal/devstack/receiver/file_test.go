package receiver_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/devstack/receiver"
)

// open starts a receiver on a file and returns how to end it.
func open(t *testing.T, path string) (service, func()) {
	t.Helper()
	r, err := receiver.Open(path, time.Now)
	require.NoError(t, err)
	server := httptest.NewServer(r.Handler())
	end := func() {
		server.Close()
		require.NoError(t, r.Close())
	}
	return service{t, server.URL}, end
}

func TestAKeyIsRememberedOverARestart(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notices.jsonl")
	s, end := open(t, path)
	_, _, first := s.post("k-1", `{"invoice" : 1}`)
	_, _, second := s.post("k-2", `{}`)
	s.post("k-1", `{"invoice" : 1}`)
	end()

	for range 2 {
		s, end = open(t, path)
		require.Equal(t, 2, s.summary().Total)
		status, replayed, answer := s.post("k-1", `{"invoice" : 1}`)
		require.Equal(t, http.StatusCreated, status)
		require.True(t, replayed)
		require.Equal(t, first, answer)
		status, _, _ = s.post("k-1", `{"invoice" : 2}`)
		require.Equal(t, http.StatusUnprocessableEntity, status)
		end()
	}
	s, end = open(t, path)
	defer end()
	summary := s.summary()
	require.Equal(t, []int{2, 3}, []int{summary.Total, summary.Replays})
	require.Equal(t, 3, summary.Notices[1].Replays)
	_, _, third := s.post("k-3", `{}`)
	require.NotContains(t, []string{first, second}, third)
}

func TestALineThatBrokeOffCostsNoOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notices.jsonl")
	s, end := open(t, path)
	s.post("k-1", `{}`)
	s.post("k-2", `{}`)
	end()
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, content[:len(content)-10], 0o600))

	s, end = open(t, path)
	_, replayed, _ := s.post("k-1", `{}`)
	require.True(t, replayed)
	_, replayed, _ = s.post("k-3", `{}`)
	require.False(t, replayed)
	end()
	s, end = open(t, path)
	defer end()
	_, replayed, _ = s.post("k-3", `{}`)
	require.True(t, replayed, "what follows a broken line is whole")
}

func TestTheFileOfNoticesStaysBounded(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "notices.jsonl")
	s, end := open(t, path)
	defer end()
	for n := range 5 * receiver.MaxNotices {
		s.post(fmt.Sprintf("k-%d", n%(receiver.MaxNotices+10)), `{}`)
	}
	content, err := os.ReadFile(path)
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(content), "\n"), 4*receiver.MaxNotices)
	require.Len(t, s.summary().Notices, receiver.MaxNotices)
}
