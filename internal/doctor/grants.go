package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/oncehook/oncehook/internal/store"
)

const grantRemedy = "oncehook migrate roles, then connect as one of its roles; later versions grant by oncehook migrate up"

// mostNamed bounds how many privileges a line names.
const mostNamed = 4

// Grants examines whether a role's login may do what the role declares, and nothing
// else.
func Grants(l Login, role store.DatabaseRole, business []BusinessSchema) Check {
	return Check{"grants", func(ctx context.Context, r *Report) {
		if l.Options.URL == "" {
			return
		}
		e, ok := l.connectMigrated(ctx, r)
		if !ok {
			return
		}
		defer e.Close()
		facts, err := e.Server(ctx)
		if err != nil {
			r.Block("see the server's log", "%s: %v", l.Role, err)
			return
		}
		names := make([]string, 0, len(business))
		for _, b := range business {
			names = append(names, b.Name)
		}
		grants, err := e.Grants(ctx, role, names)
		switch {
		case err != nil:
			r.Block("see the server's log", "%s: the grants cannot be read: %v", l.Role, err)
		case len(grants.Missing) > 0:
			r.Block(grantRemedy, "%s: %s lacks %s", l.Role, facts.Login, join(grants.Missing))
		case l.Shared:
		case facts.Superuser:
			r.Warn(grantRemedy, "%s: %s is a superuser: it may change evidence, read every table, and switch off every guard", l.Role, facts.Login)
		case grants.Owner:
			r.Warn(grantRemedy, "%s: %s owns the tables: it may change evidence and read every table", l.Role, facts.Login)
		case len(grants.Surplus) > 0:
			r.Warn("revoke it; oncehook migrate up does for the roles that migrate roles made", "%s: %s may also %s", l.Role, facts.Login, join(grants.Surplus))
		default:
			r.OK("%s: %s may do what it needs and nothing else", l.Role, facts.Login)
		}
	}}
}

// join lists a few of the words, and how many there are more.
func join(words []string) string {
	if len(words) <= mostNamed {
		return strings.Join(words, ", ")
	}
	return strings.Join(words[:mostNamed], ", ") + fmt.Sprintf(" and %d more", len(words)-mostNamed)
}
