package page

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/oncehook/oncehook/internal/admin/api"
)

// Receipt writes what is known of an event itself.
func Receipt(w io.Writer, r api.Receipt) error {
	p := &printer{w: w}
	p.receipt(r)
	return p.err
}

// printer remembers the first error, so that layout code need not look at each.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) line(format string, args ...any) {
	if p.err == nil {
		text := strings.TrimRight(fmt.Sprintf(format, args...), " ")
		_, p.err = io.WriteString(p.w, text+"\n")
	}
}

func (p *printer) heading(title string) {
	p.line("")
	p.line("%s", title)
}

// field writes a named value below the title.
func (p *printer) field(name, format string, args ...any) {
	p.line("  %-12s %s", name, fmt.Sprintf(format, args...))
}

func (p *printer) receipt(r api.Receipt) {
	key, status := Clean(r.EventKey), Clean(r.Status)
	p.line("%s%s%s", key, strings.Repeat(" ", max(2, 80-utf8.RuneCountInString(key)-utf8.RuneCountInString(status))), status)
	p.line("")
	if r.Status != string(r.State) {
		p.field("status", "%s (stored: %s)", status, r.State)
	}
	p.field("cause", "%s", Clean(r.Cause))
	p.field("receipt", "%s, version %d", r.ReceiptId, r.Version)
	p.field("event", "%s, %s", Clean(r.EventId), Clean(r.Type))
	p.field("source", "%s, tenant %s", Clean(r.Source), Clean(r.Tenant))
	if r.Subject != nil {
		p.field("subject", "%s", Clean(*r.Subject))
	}
	p.field("ordering", "%s", ordering(r))
	p.field("correlation", "%s", r.CorrelationId)
	p.field("deliveries", "%d: 1 accepted and %s; %s beside them", r.Deliveries, counted(r.Deliveries-1, "duplicate"), counted(r.Conflicts, "conflict"))
	p.field("first seen", "%s UTC", Time(r.FirstSeen))
	if r.LastSeen.After(r.FirstSeen) {
		p.field("last seen", "%s UTC (%s)", Time(r.LastSeen), since(r.FirstSeen, r.LastSeen))
	}
}

func ordering(r api.Receipt) string {
	var by []string
	if r.OccurredAt != nil {
		by = append(by, "occurred "+Time(*r.OccurredAt)+" UTC")
	}
	if r.Sequence != nil {
		by = append(by, "sequence "+Clean(*r.Sequence))
	}
	if r.Unordered {
		return "unordered: receipt order counts"
	}
	return strings.Join(by, ", ")
}
