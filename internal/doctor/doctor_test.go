package doctor_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/doctor"
)

// examine runs one check for a test.
func examine(t testing.TB, check doctor.Check) []doctor.Finding {
	t.Helper()
	return doctor.Examine(t.Context(), []doctor.Check{check}, 20*time.Second, nil)
}

// finds requires a finding of the level that says the words, and a remedy unless it is ok.
func finds(t testing.TB, findings []doctor.Finding, level doctor.Level, words ...string) {
	t.Helper()
	for _, f := range findings {
		says := f.Level == level && (level == doctor.OK || level == doctor.Skipped) == (f.Remedy == "")
		for _, word := range words {
			says = says && strings.Contains(f.Text+" — "+f.Remedy, word)
		}
		if says {
			return
		}
	}
	text, err := json.MarshalIndent(findings, "", "  ")
	require.NoError(t, err)
	require.Fail(t, "no such finding", "%s %v in %s", level, words, text)
}

// without requires that nothing says the word.
func without(t testing.TB, findings []doctor.Finding, word string) {
	t.Helper()
	for _, f := range findings {
		require.NotContains(t, f.Text+" — "+f.Remedy, word)
	}
}

func TestACheckThatFailsHangsOrPanicsStopsNoOther(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	defer close(stuck)
	began := time.Now()
	found := doctor.Examine(t.Context(), []doctor.Check{
		{Area: "panics", Run: func(context.Context, *doctor.Report) { panic("oh") }},
		{Area: "hangs", Run: func(_ context.Context, r *doctor.Report) {
			r.OK("began")
			<-stuck
		}},
		{Area: "heeds", Run: func(ctx context.Context, r *doctor.Report) {
			<-ctx.Done()
			r.Block("start it", "does not answer")
		}},
		{Area: "works", Run: func(_ context.Context, r *doctor.Report) { r.OK("fine") }},
	}, 100*time.Millisecond, nil)
	require.Less(t, time.Since(began), 10*time.Second)
	var lines []string
	for _, f := range found {
		lines = append(lines, string(f.Level)+" "+f.Area+" "+f.Text)
	}
	require.Equal(t, []string{
		"blocker panics the check broke off: oh", "ok hangs began", "blocker hangs the check did not end within 100ms",
		"blocker heeds does not answer", "ok works fine",
	}, lines)
	require.Equal(t, 3, doctor.Count(found, doctor.Blocker))
}

func TestNoFindingRepeatsASecretOrSpansLines(t *testing.T) {
	t.Parallel()
	found := doctor.Examine(t.Context(), []doctor.Check{{Area: "a", Run: func(_ context.Context, r *doctor.Report) {
		r.Block("do not say hunter2-canary", "the server says: no\n\thunter2-canary at hunter2-canary")
	}}}, time.Second, []oncehook.Secret{nil, oncehook.Secret("hunter2-canary")})
	require.Equal(t, []doctor.Finding{{Level: doctor.Blocker, Area: "a", Text: "the server says: no; … at …", Remedy: "do not say …"}}, found)
}
