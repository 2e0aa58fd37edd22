package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/oncehook/oncehook/internal/admin/api"
)

// fewAlike is how many decisions that are alike are shown one by one.
const fewAlike = 4

func (p *tracePrinter) decisions(t api.Trace) {
	p.heading("Decisions")
	for _, group := range alike(t.Decisions) {
		shown := group
		if len(group) > fewAlike {
			shown = group[:1]
		}
		for _, d := range shown {
			p.decision(d)
		}
		if more := len(group) - len(shown); more > 0 {
			p.line("  %s  and %d like it until here", p.at(group[len(group)-1].At), more)
		}
	}
	if t.Truncated {
		p.more("and more, not shown")
	}
}

func (p *tracePrinter) decision(d api.Decision) {
	p.line("  %s  %-10s principal %s, credential %s, tenant %s", p.at(d.At), Clean(d.Outcome),
		orDash(d.Principal), orDash(d.CredentialVersion), orDash(d.Tenant))
	var detail []string
	if d.Count != 1 {
		detail = append(detail, fmt.Sprintf("%d times", d.Count))
	}
	detail = append(detail, "transaction "+Clean(d.TransactionId))
	if d.Peer != nil {
		detail = append(detail, "from "+Clean(*d.Peer))
	}
	if d.Cause != nil {
		detail = append(detail, "cause "+Clean(*d.Cause))
	}
	for _, flag := range d.Flags {
		detail = append(detail, Clean(flag))
	}
	p.more("%-10s %s", "", strings.Join(detail, ", "))
}

// alike splits decisions into runs that differ in time and transaction only.
func alike(decisions []api.Decision) [][]api.Decision {
	var groups [][]api.Decision
	for n, d := range decisions {
		if n == 0 || !same(decisions[n-1], d) {
			groups = append(groups, nil)
		}
		groups[len(groups)-1] = append(groups[len(groups)-1], d)
	}
	return groups
}

func same(a, b api.Decision) bool {
	return a.Outcome == b.Outcome && a.Count == 1 && b.Count == 1 && orDash(a.Principal) == orDash(b.Principal) &&
		orDash(a.CredentialVersion) == orDash(b.CredentialVersion) && orDash(a.Tenant) == orDash(b.Tenant) &&
		orDash(a.Peer) == orDash(b.Peer) && orDash(a.Cause) == orDash(b.Cause) && slices.Equal(a.Flags, b.Flags)
}
