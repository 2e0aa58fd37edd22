package drain

import (
	"fmt"
	"strings"

	"github.com/oncehook/oncehook/internal/store"
)

// Report is what one look found left.
type Report struct {
	Outbox store.OutboxDue
	// Waiting runs wait for a signal or a timer, Retrying ones for an attempt that
	// is due later. Both are counted up to the first run that could go on.
	Waiting, Retrying int
	// Active is a run that could go on now, and Why; "" when there is none.
	Active, Why string
}

// quiet says that nothing could go on now by itself.
func (r Report) quiet() bool { return r.Outbox.Due == 0 && r.Active == "" }

// String is a line for people. It names no payload: an event key at most.
func (r Report) String() string {
	var parts []string
	add := func(n int, one, many string) {
		switch {
		case n == 1:
			parts = append(parts, "1 "+one)
		case n > 1:
			parts = append(parts, fmt.Sprintf("%d %s", n, many))
		}
	}
	add(r.Outbox.Due, "outbox row is due", "outbox rows are due")
	add(r.Outbox.Stuck, "outbox row needs a person ("+r.Outbox.Alert+")", "outbox rows need a person ("+r.Outbox.Alert+")")
	add(r.Outbox.Later, "outbox row comes due later", "outbox rows come due later")
	if r.Active != "" {
		parts = append(parts, "run "+r.Active+" could go on: "+r.Why)
	}
	add(r.Waiting, "run waits for a signal or a timer", "runs wait for a signal or a timer")
	add(r.Retrying, "run waits for a later retry", "runs wait for a later retry")
	if len(parts) == 0 {
		return "nothing is left"
	}
	return strings.Join(parts, "; ")
}
