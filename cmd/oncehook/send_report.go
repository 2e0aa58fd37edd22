package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/admin/page"
)

// sendReport tells what was answered: a line each as it comes, and the sum.
type sendReport struct {
	stdout io.Writer
	live   bool
	// grouped shows the first of equal answers only; the sum counts all.
	grouped bool
	told    map[string]bool
	answers []sentAnswer
	failed  int
	first   time.Time
	sums    map[string]int
}

// sentAnswer is one answer as JSON shows it.
type sentAnswer struct {
	Status       int             `json:"status"`
	Body         json.RawMessage `json:"body,omitempty"`
	Error        string          `json:"error,omitempty"`
	Milliseconds float64         `json:"milliseconds"`
}

func (r *sendReport) add(s sent) {
	if r.sums == nil {
		r.sums, r.told, r.first = map[string]int{}, map[string]bool{}, time.Now().Add(-s.took)
	}
	word, line := describe(s)
	r.sums[word]++
	if s.err != nil || s.status < 200 || s.status > 299 || acknowledgedRefusal(word) {
		r.failed++
	}
	if r.live {
		if key := fmt.Sprint(s.status, " ", word); !r.grouped || !r.told[key] {
			r.told[key] = true
			fmt.Fprintln(r.stdout, line)
		}
		return
	}
	answer := sentAnswer{Status: s.status, Milliseconds: float64(s.took.Microseconds()) / 1000}
	if s.err != nil {
		answer.Error = s.err.Error()
	}
	if json.Valid(s.body) {
		answer.Body = s.body
	}
	r.answers = append(r.answers, answer)
}

// acknowledgedRefusal reports whether a 2xx refuses all the same, for a provider
// that would only retry.
func acknowledgedRefusal(word string) bool {
	return word == string(oncehook.Conflict) || word == string(oncehook.Rejected)
}

// describe gives an answer one word, to count by, and one line.
func describe(s sent) (word, line string) {
	if s.err != nil {
		return "failed", "failed: " + page.Clean(s.err.Error())
	}
	var body struct {
		Status  json.RawMessage              `json:"status"`
		Code    string                       `json:"code"`
		Results []map[string]json.RawMessage `json:"results"`
	}
	var fields map[string]json.RawMessage
	if json.Unmarshal(s.body, &fields) != nil || json.Unmarshal(s.body, &body) != nil {
		return fmt.Sprint(s.status), fmt.Sprintf("%d  %s  (%s)", s.status, page.Clean(shorten(string(s.body))), took(s))
	}
	switch {
	case body.Code != "" && !acknowledgedRefusal(plain(body.Status)):
		word = body.Code
	case body.Status != nil:
		word = plain(body.Status)
	case body.Results != nil:
		word = fmt.Sprintf("%d results", len(body.Results))
	default:
		word = fmt.Sprint(s.status)
	}
	shown := ""
	for _, result := range body.Results {
		shown += "\n    " + pairs(result)
	}
	for _, told := range []string{"status", "results", "title", "type"} {
		delete(fields, told)
	}
	if word == body.Code {
		delete(fields, "code")
	}
	return word, fmt.Sprintf("%d  %-10s  %s  (%s)%s", s.status, page.Clean(word), pairs(fields), took(s), shown)
}

// pairs shows the fields of an answer, the usual ones first.
func pairs(fields map[string]json.RawMessage) string {
	usual := []string{"status", "code", "event_key", "receipt_id", "field", "detail", "retryable", "correlation_id"}
	var shown []string
	for _, name := range append(usual, slices.Sorted(maps.Keys(fields))...) {
		value, ok := fields[name]
		pair := name + "=" + plain(value)
		if ok && !slices.Contains(shown, pair) {
			shown = append(shown, pair)
		}
	}
	return strings.Join(shown, "  ")
}

// plain shows a JSON string without its quotes unless it has blanks.
func plain(value json.RawMessage) string {
	var text string
	if json.Unmarshal(value, &text) != nil || strings.Contains(text, " ") {
		return page.Clean(shorten(string(value)))
	}
	return page.Clean(shorten(text))
}

func shorten(s string) string {
	const most = 300
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

func took(s sent) string { return fmt.Sprintf("%.1fms", float64(s.took.Microseconds())/1000) }

// summary writes the last line.
func (r *sendReport) summary() error {
	total, words := 0, []string{}
	for _, word := range slices.Sorted(maps.Keys(r.sums)) {
		total += r.sums[word]
		words = append(words, fmt.Sprintf("%d %s", r.sums[word], page.Clean(word)))
	}
	_, err := fmt.Fprintf(r.stdout, "%d sent in %s: %s\n", total, time.Since(r.first).Round(time.Millisecond), strings.Join(words, ", "))
	return err
}

func (r *sendReport) document() map[string]any {
	if r.answers == nil {
		return map[string]any{"answers": []sentAnswer{}}
	}
	return map[string]any{"answers": r.answers}
}

// err is nil when there were answers and none refused the event.
func (r *sendReport) err() error {
	switch {
	case r.sums == nil:
		return errors.New("nothing was sent")
	case r.failed > 0:
		return fmt.Errorf("%d not accepted", r.failed)
	}
	return nil
}
