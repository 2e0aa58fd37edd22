package page_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/admin/page"
)

var update = flag.Bool("update", false, "write the golden files")

func trace(t *testing.T, name string) api.Trace {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("testdata", name))
	require.NoError(t, err)
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	var trace api.Trace
	require.NoError(t, decoder.Decode(&trace))
	return trace
}

func requireGolden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		require.NoError(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestATraceIsOnePage(t *testing.T) {
	for _, name := range []string{"succeeded", "troubled", "ignored"} {
		t.Run(name, func(t *testing.T) {
			var out strings.Builder
			require.NoError(t, page.Trace(&out, trace(t, name+".json")))
			requireGolden(t, name+".txt", out.String())
			for line := range strings.Lines(out.String()) {
				line = strings.TrimSuffix(line, "\n")
				require.False(t, strings.ContainsFunc(line, unicode.IsControl), "%q", line)
				require.Equal(t, strings.TrimRight(line, " "), line)
				if !strings.Contains(line, "http://") {
					require.LessOrEqual(t, utf8.RuneCountInString(line), 120, line)
				}
			}
		})
	}
}

func TestManyCopiesStayOnePage(t *testing.T) {
	tr := trace(t, "succeeded.json")
	duplicate := tr.Decisions[1]
	for range 998 {
		tr.Decisions = append(tr.Decisions, duplicate)
	}
	other := "another-sender"
	duplicate.Principal = &other
	tr.Decisions = append(tr.Decisions, duplicate)
	var out strings.Builder
	require.NoError(t, page.Trace(&out, tr))
	require.Contains(t, out.String(), "and 998 like it until here")
	require.Contains(t, out.String(), "principal another-sender")
	require.Less(t, strings.Count(out.String(), "\n"), 60)
}

func TestAListIsATable(t *testing.T) {
	r := trace(t, "succeeded.json").Receipt
	odd := api.EventSummary{EventKey: "k", ReceiptId: r.ReceiptId, Type: "a\x1b[2Jb\tc", Status: "received", FirstSeen: r.FirstSeen}
	var out strings.Builder
	require.NoError(t, page.Events(&out, []api.EventSummary{
		{EventKey: r.EventKey, ReceiptId: r.ReceiptId, Type: r.Type, Status: r.Status, FirstSeen: r.FirstSeen}, odd,
	}))
	requireGolden(t, "events.txt", out.String())
}

func TestWhatASenderWroteCannotSteerTheTerminal(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 日本":       "plain é 日本",
		"\x1b]0;title\a":   `\u001b]0;title\u0007`,
		"a\nb\r\x00\u009b": `a\u000ab\u000d\u0000\u009b`,
		"a\u202eb\u2066c":  `a\u202eb\u2066c`,
		"\U000e0041":       `\U000e0041`,
		"\xff":             "\uFFFD",
	} {
		require.Equal(t, want, page.Clean(text))
	}
}

func TestRefusalsAreTables(t *testing.T) {
	r := trace(t, "succeeded.json").Receipt
	field, tenant, at := "depot_id", "north\x1b[2J", r.FirstSeen
	rejected := api.RejectedDelivery{
		Id: r.ReceiptId, CorrelationId: r.ReceiptId, At: at, Source: "logistics", Principal: "sender", CredentialVersion: "2", Peer: "192.0.2.7",
		Code: "malformed_json", ExpiresAt: at.Add(7 * 24 * time.Hour),
	}
	whole := rejected
	whole.Code, whole.Field, whole.Tenant, whole.ResubmittedAt, whole.ResubmittedAs = "field_missing", &field, &tenant, &at, &r.ReceiptId
	var out strings.Builder
	require.NoError(t, page.RejectedList(&out, []api.RejectedDelivery{rejected, whole}))
	require.NoError(t, page.Rejected(&out, rejected))
	require.NoError(t, page.Rejected(&out, whole))
	require.NoError(t, page.Refusals(&out, []api.RefusalCount{
		{Source: "logistics", Outcome: "unauthenticated", Cause: "wrong_secret", AddressBlock: "192.0.2.0/24", Count: 12, FirstAt: at, LastAt: at.Add(time.Hour)},
		{Outcome: "unauthenticated", Cause: "source_unknown", Count: 1, FirstAt: at, LastAt: at},
	}))
	requireGolden(t, "refusals.txt", out.String())
}

type broken struct{}

func (broken) Write([]byte) (int, error) { return 0, errors.New("broken pipe") }

func TestALostReaderIsAnError(t *testing.T) {
	tr := trace(t, "succeeded.json")
	require.Error(t, page.Trace(broken{}, tr))
	require.Error(t, page.Receipt(broken{}, tr.Receipt))
	require.Error(t, page.Events(broken{}, nil))
	require.Error(t, page.RejectedList(broken{}, nil))
	require.Error(t, page.Rejected(broken{}, api.RejectedDelivery{}))
	require.Error(t, page.Refusals(broken{}, nil))
}
