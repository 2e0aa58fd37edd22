package config

import (
	"crypto/sha256"
	"net/netip"
	"net/url"
	"strconv"

	"github.com/oncehook/oncehook"
)

// Egress says which private targets effects may call. Public ones need no permission.
type Egress struct{ Allow []EgressTarget }

// EgressTarget is a network, on one port or on every one.
type EgressTarget struct {
	Prefix netip.Prefix
	// Port is 0 for every port.
	Port uint16
}

// String is the target as the file spells it.
func (t EgressTarget) String() string {
	if t.Port != 0 {
		return netip.AddrPortFrom(t.Prefix.Addr(), t.Port).String()
	}
	return t.Prefix.String()
}

// Destination is a place that effects call.
type Destination struct {
	URL string
	// Token is sent as Authorization: Bearer; nil sends none.
	Token oncehook.Secret
}

func (r *reader) egress(o *object) Egress {
	var e Egress
	nodes, _ := o.list("allow")
	for k, n := range nodes {
		target, ok := egressTarget(n.Value)
		if !ok || !isPlain(n) {
			r.problem(n.Line, o.child("allow")+"["+strconv.Itoa(k)+"]", "must be host:port of a literal address, such as 127.0.0.1:9090, or a network such as 10.0.0.0/8")
			continue
		}
		e.Allow = append(e.Allow, target)
	}
	o.done()
	return e
}

func egressTarget(text string) (EgressTarget, bool) {
	if p, err := netip.ParsePrefix(text); err == nil && p.Addr().Zone() == "" {
		return EgressTarget{Prefix: p.Masked()}, true
	}
	a, err := netip.ParseAddrPort(text)
	if err != nil || a.Port() == 0 || a.Addr().Zone() != "" {
		return EgressTarget{}, false
	}
	addr := a.Addr().Unmap()
	return EgressTarget{Prefix: netip.PrefixFrom(addr, addr.BitLen()), Port: a.Port()}, true
}

func (r *reader) destinations(o *object) map[string]Destination {
	out := map[string]Destination{}
	for _, name := range o.order {
		if reason := badSourceName(name); reason != "" {
			r.problem(o.lines[name], o.child(name), "%s", reason)
		}
		out[name] = r.destination(o.section(name))
	}
	return out
}

func (r *reader) destination(o *object) Destination {
	d := Destination{URL: o.target("url"), Token: o.secret("token", minPresent, false)}
	for _, c := range d.Token {
		if c < '!' || c > '~' {
			r.problem(o.lineOf("token"), o.child("token"), "holds what an HTTP header cannot carry: use printable ASCII without white space")
			break
		}
	}
	o.done()
	return d
}

// target reads the absolute http or https URL of a call. A query may be a
// secret, and a user is one, so neither is taken.
func (o *object) target(key string) string {
	value, at, ok := o.scalar(key)
	if !ok || value == "" {
		o.r.problem(at.line, at.path, "is missing: write the URL that is called")
		return ""
	}
	u, err := url.Parse(value)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" ||
		u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" || notText(value) != "" {
		o.r.problem(at.line, at.path, "must be an http or https URL without user, query and fragment")
		return ""
	}
	return value
}

type egressView struct {
	Allow []string `yaml:"allow"`
}

type destinationView struct {
	URL   string     `yaml:"url"`
	Token *reference `yaml:"token,omitempty"`
}

func (c *Config) egressView() egressView {
	v := egressView{Allow: []string{}}
	for _, t := range c.Egress.Allow {
		v.Allow = append(v.Allow, t.String())
	}
	return v
}

func (c *Config) destinationViews() map[string]destinationView {
	out := map[string]destinationView{}
	for name, d := range c.Destinations {
		v := destinationView{URL: d.URL}
		if ref, ok := c.references["destinations."+printable(name)+".token"]; ok {
			v.Token = &ref
		}
		out[name] = v
	}
	return out
}

// checkTokens refuses a destination's token that would let the destination act as
// a sender or as the admin.
func (r *reader) checkTokens(c *Config) {
	known := map[[sha256.Size]byte]string{}
	if len(c.Admin.Token) > 0 {
		known[sha256.Sum256(c.Admin.Token)] = "admin.token"
	}
	for _, s := range c.Sources {
		for p, principal := range s.Principals {
			for n, credential := range principal.Credentials {
				known[sha256.Sum256(credential.Secret)] = credentialPath(s.Name, p, n)
			}
		}
	}
	for name, d := range c.Destinations {
		path := "destinations." + printable(name) + ".token"
		if other, ok := known[sha256.Sum256(d.Token)]; ok && len(d.Token) > 0 {
			r.problem(r.lines[path], path, "holds the same secret as %s: give each its own", other)
		}
	}
}
