package config

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/oncehook/oncehook"
)

// Bounds of a source's limits.
const (
	maxBody  = 32 << 20
	maxBurst = 1_000_000
)

// Retention classes, from the shortest.
var retentions = []string{"short", DefaultRetention, "long"}

func (r *reader) sources(root *object) []Source {
	all := root.section("sources")
	var out []Source
	for _, name := range all.order {
		if reason := badSourceName(name); reason != "" {
			r.problem(all.lines[name], all.child(name), "%s", reason)
		}
		out = append(out, r.source(name, all.section(name)))
	}
	slices.SortFunc(out, func(a, b Source) int { return strings.Compare(a.Name, b.Name) })
	return out
}

func (r *reader) source(name string, o *object) Source {
	s := Source{
		Name:          name,
		Provider:      o.text("provider", ""),
		Principals:    r.principals(o),
		Types:         o.texts("types"),
		Fields:        r.fields(o.section("fields")),
		DefaultTenant: o.text("default_tenant", ""),
		PersonalIDs:   o.boolean("personal_ids", false),
		Limits:        r.limits(o.section("limits")),
		Retention:     o.text("retention", DefaultRetention),
		Owner:         o.text("owner", ""),
		SLO:           o.text("slo", ""),
		Reviewed:      o.date("reviewed"),
	}
	o.done()
	r.lines[o.child("provider")] = o.lineOf("provider")
	if s.Provider == "" {
		r.problem(o.lineOf("provider"), o.child("provider"), "is missing: name the kind of provider, such as bearer")
	}
	if len(s.Types) == 0 {
		r.problem(o.lineOf("types"), o.child("types"), `is empty: list the event types, or write ["*"] to recognize all`)
	}
	if len(s.Types) > 1 && slices.Contains(s.Types, AllTypes) {
		r.problem(o.lineOf("types"), o.child("types"), `mixes "*" with names: write one or the other`)
	}
	if !slices.Contains(retentions, s.Retention) {
		r.problem(o.lineOf("retention"), o.child("retention"), "must be one of %s", strings.Join(retentions, ", "))
	}
	r.checkDefaultTenant(o, s)
	return s
}

func (r *reader) checkDefaultTenant(o *object, s Source) {
	if s.DefaultTenant == "" {
		return
	}
	path := o.child("default_tenant")
	if reason := badTenant(s.DefaultTenant); reason != "" {
		r.problem(o.lineOf("default_tenant"), path, "%s", reason)
		return
	}
	speaks := func(p oncehook.Principal) bool {
		return oncehook.Proof{Tenants: p.Tenants}.MaySpeakFor(s.DefaultTenant)
	}
	if len(s.Principals) > 0 && !slices.ContainsFunc(s.Principals, speaks) {
		r.problem(o.lineOf("default_tenant"), path, "is a tenant that no principal of this source may speak for")
	}
}

func (r *reader) principals(source *object) []oncehook.Principal {
	nodes, given := source.list("principals")
	if len(nodes) == 0 {
		if given || source.members["principals"] == nil {
			r.problem(source.lineOf("principals"), source.child("principals"), "is empty: a source without a principal can authenticate nobody")
		}
		return nil
	}
	var out []oncehook.Principal
	for k, n := range nodes {
		o := r.object(n, source.child("principals")+"["+strconv.Itoa(k)+"]", n.Line, true)
		p := oncehook.Principal{Name: o.text("name", ""), Tenants: r.tenants(o), Credentials: r.credentials(o)}
		o.done()
		switch {
		case p.Name == "":
			r.problem(o.lineOf("name"), o.child("name"), "is missing: name the principal, as evidence will show it")
		case slices.ContainsFunc(out, func(other oncehook.Principal) bool { return other.Name == p.Name }):
			r.problem(o.lineOf("name"), o.child("name"), "repeats the principal %s: give every credential to one entry, or another name", printable(p.Name))
		}
		out = append(out, p)
	}
	return out
}

func (r *reader) tenants(o *object) []string {
	tenants := o.texts("tenants")
	path, line := o.child("tenants"), o.lineOf("tenants")
	if len(tenants) == 0 {
		r.problem(line, path, `is empty: list the tenants that this principal may speak for, or write ["*"] for all`)
		return nil
	}
	if slices.Contains(tenants, oncehook.AllTenants) {
		if len(tenants) > 1 {
			r.problem(line, path, `mixes "*" with names: write one or the other`)
		}
		return tenants
	}
	for _, t := range tenants {
		if reason := badTenant(t); reason != "" {
			r.problem(line, path, "names %s: %s", printable(t), reason)
		}
	}
	return tenants
}

func (r *reader) credentials(principal *object) []oncehook.Credential {
	nodes, given := principal.list("credentials")
	if len(nodes) == 0 {
		if given || principal.members["credentials"] == nil {
			r.problem(principal.lineOf("credentials"), principal.child("credentials"), "is empty: write at least one {version: \"1\", secret: {file: PATH}}")
		}
		return nil
	}
	var out []oncehook.Credential
	for k, n := range nodes {
		out = append(out, r.credential(n, principal.child("credentials")+"["+strconv.Itoa(k)+"]", out))
	}
	return out
}

func (r *reader) credential(n *yaml.Node, path string, earlier []oncehook.Credential) oncehook.Credential {
	o := r.object(n, path, n.Line, true)
	c := oncehook.Credential{Version: o.text("version", ""), Secret: o.secret("secret", minToken, true), Expires: o.instant("expires")}
	o.done()
	switch {
	case c.Version == "":
		r.problem(o.lineOf("version"), o.child("version"), "is missing: number the credential, as evidence will show it")
	case slices.ContainsFunc(earlier, func(other oncehook.Credential) bool { return other.Version == c.Version }):
		r.problem(o.lineOf("version"), o.child("version"), "repeats the credential version %s: every secret of a principal has its own", printable(c.Version))
	}
	return c
}

// ownFields are the members of a generic body that are read for themselves.
var ownFields = []string{"id", "tenant", "type", "occurred_at"}

func (r *reader) fields(o *object) oncehook.Fields {
	f := oncehook.Fields{Required: o.texts("required"), Subject: o.text("subject", "")}
	o.done()
	for k, name := range f.Required {
		line, path := o.lineOf("required"), o.child("required")
		if slices.ContainsFunc(ownFields, func(own string) bool { return strings.EqualFold(own, name) }) {
			r.problem(line, path, "names %s, which is read for itself", printable(name))
		}
		if slices.ContainsFunc(f.Required[:k], func(other string) bool { return strings.EqualFold(other, name) }) {
			r.problem(line, path, "names %s twice but for upper and lower case", printable(name))
		}
	}
	if f.Subject != "" && !slices.Contains(f.Required, f.Subject) {
		r.problem(o.lineOf("subject"), o.child("subject"), "must be one of the required fields")
	}
	return f
}

func (r *reader) limits(o *object) Limits {
	l := Limits{Body: o.size("body", DefaultBody, maxBody), Rate: o.number("rate"), Burst: o.integer("burst", 0, 1, maxBurst)}
	o.done()
	switch {
	case l.Rate == 0 && l.Burst != 0:
		r.problem(o.lineOf("burst"), o.child("burst"), "has no meaning without rate")
	case l.Rate > 0 && l.Burst == 0:
		l.Burst = max(1, int(l.Rate))
	}
	return l
}

// badSourceName says why a name cannot be a source's, or "".
func badSourceName(name string) string {
	switch {
	case notText(name) != "":
		return notText(name)
	case name == "." || name == ".." || strings.ContainsAny(name, "/\\"):
		return "cannot be part of a URL path: use another name"
	}
	return keyRefusal(name, "t")
}

func badTenant(tenant string) string { return keyRefusal("s", tenant) }

// keyRefusal applies the event key's own rules to a source and a tenant.
func keyRefusal(source, tenant string) string {
	_, err := oncehook.Identity{}.Key(source, tenant, "i", false)
	if refusal, ok := errors.AsType[*oncehook.Refusal](err); ok {
		return "cannot be part of an event key: " + refusal.Detail
	}
	return ""
}
