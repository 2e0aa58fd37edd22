// Package doctor examines an installation: what keeps it from working, what would
// break a promise, and what to do about each. It changes nothing and tells no
// secret.
package doctor

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/oncehook/oncehook"
)

// Level is how bad a finding is.
type Level string

// The levels.
const (
	// Blocker: something does not work, or a promise does not hold.
	Blocker Level = "blocker"
	// Warning: it works, and somebody should look.
	Warning Level = "warning"
	OK      Level = "ok"
	// Skipped: it was not looked at, and the text says why.
	Skipped Level = "skipped"
)

// Finding is one line of the report.
type Finding struct {
	Level Level  `json:"level"`
	Area  string `json:"area"`
	Text  string `json:"text"`
	// Remedy says what to do; it is empty for what is in order.
	Remedy string `json:"remedy,omitempty"`
}

// Check examines one area. It adds its findings as it goes: those found before its
// time is up are kept.
type Check struct {
	Area string
	Run  func(ctx context.Context, r *Report)
}

// Report collects the findings of one check. It is safe for concurrent use.
type Report struct {
	area    string
	secrets []oncehook.Secret

	mu    sync.Mutex
	found []Finding
	done  bool
}

// OK adds what is in order.
func (r *Report) OK(format string, args ...any) { r.add(OK, "", format, args) }

// Skip adds what was not examined, and why.
func (r *Report) Skip(format string, args ...any) { r.add(Skipped, "", format, args) }

// Warn adds what somebody should look at, and the remedy.
func (r *Report) Warn(remedy, format string, args ...any) { r.add(Warning, remedy, format, args) }

// Block adds what does not work, and the remedy.
func (r *Report) Block(remedy, format string, args ...any) { r.add(Blocker, remedy, format, args) }

func (r *Report) add(level Level, remedy, format string, args []any) {
	f := Finding{Level: level, Area: r.area, Text: r.clean(fmt.Sprintf(format, args...)), Remedy: r.clean(remedy)}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.done {
		r.found = append(r.found, f)
	}
}

// clean makes one line without a secret. Nothing here writes one; what a server or
// a driver says is not known beforehand.
func (r *Report) clean(text string) string {
	for _, secret := range r.secrets {
		if len(secret) >= leastHidden {
			text = string(bytes.ReplaceAll([]byte(text), secret, []byte("…")))
		}
	}
	var lines []string
	for line := range strings.Lines(text) {
		if words := strings.Fields(line); len(words) > 0 {
			lines = append(lines, strings.Join(words, " "))
		}
	}
	return strings.Join(lines, "; ")
}

// leastHidden keeps a short value, such as a password "a", from blotting out words.
const leastHidden = 6

// close ends the report: what a check that overran still adds is nobody's any more.
func (r *Report) close() []Finding {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.done = true
	return r.found
}

// Examine runs the checks at once, each for limit at most, and returns their
// findings in the order of the checks. A check that fails, hangs or panics stops no
// other. Of secrets nothing is repeated, and nothing that two checks find alike.
func Examine(ctx context.Context, checks []Check, limit time.Duration, secrets []oncehook.Secret) []Finding {
	reports := make([]*Report, len(checks))
	var running sync.WaitGroup
	for n, check := range checks {
		reports[n] = &Report{area: check.Area, secrets: secrets}
		running.Go(func() { check.run(ctx, limit, reports[n]) })
	}
	running.Wait()
	var all []Finding
	seen := map[Finding]bool{}
	for _, r := range reports {
		for _, f := range r.close() {
			if !seen[f] {
				seen[f] = true
				all = append(all, f)
			}
		}
	}
	return all
}

func (c Check) run(ctx context.Context, limit time.Duration, r *Report) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer func() {
			if p := recover(); p != nil {
				r.Block("report this: it is a fault of oncehook's", "the check broke off: %v", p)
			}
		}()
		c.Run(ctx, r)
	}()
	select {
	case <-ended:
	case <-ctx.Done():
		select {
		case <-ended:
		case <-time.After(grace):
			r.Block("see whether what it asks answers at all", "the check did not end within %s", limit)
		}
	}
}

// grace lets a check that heeds its context say why it did not end in time.
const grace = time.Second

// Count returns how many findings are of the level.
func Count(findings []Finding, level Level) int {
	n := 0
	for _, f := range findings {
		if f.Level == level {
			n++
		}
	}
	return n
}
