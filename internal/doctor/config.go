package doctor

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/config"
)

const day = 24 * time.Hour

const (
	// reviewEvery is how old a review of a source may be.
	reviewEvery = 365 * day
	// expiresSoon is how long before its end a credential is worth a word.
	expiresSoon = 14 * day
)

// Unloaded reports why a configuration cannot be loaded. Nothing else can be
// examined then.
func Unloaded(err error) Check {
	return Check{"config", func(_ context.Context, r *Report) {
		var load *config.LoadError
		if !errors.As(err, &load) {
			r.Block("name the configuration by --config or ONCEHOOK_CONFIG", "%v", err)
			return
		}
		for _, p := range load.Problems {
			r.Block(remedyOf(p), "%s", p)
		}
	}}
}

func remedyOf(p config.Problem) string {
	switch p.Path {
	case config.PathIdentity, config.PathKeyset:
		return keysRemedy
	case config.PathAdminToken:
		return "oncehook keys admin-token makes one where none is, then run oncehook migrate up"
	default:
		return "change that line; oncehook config shows what is in effect"
	}
}

// Catalog is what the configuration is examined against.
type Catalog struct {
	Provider func(kind string, source oncehook.Source) (oncehook.Provider, error)
	Routes   oncehook.Routes
}

// Config examines what the file says.
func Config(c *config.Config, catalog Catalog, now time.Time) Check {
	return Check{"config", func(_ context.Context, r *Report) {
		r.OK("%s has %s", c.Name(), counted(len(c.Sources), "source"))
		if len(c.Sources) == 0 {
			r.Warn("add one under sources, or run oncehook dev for an example", "there is no source: nothing can be received")
		}
		listeners(c, r)
		for _, s := range c.Sources {
			provider, err := catalog.Provider(s.Provider, oncehook.Source{Name: s.Name, Principals: s.Principals, Fields: s.Fields})
			if err != nil {
				r.Block("change sources."+s.Name+" as it says", "serve will not start: provider %s: %v", s.Provider, err)
				continue
			}
			if signer, ok := provider.(oncehook.URLSigner); ok && signer.SignsURL() && c.Ingress.PublicURL == "" {
				r.Block("set ingress.public_url to the address that its senders use", "source %s: its senders sign the public URL, and none is configured", s.Name)
			}
			credentials(s, r, now)
			routed(s, provider, catalog.Routes, r)
		}
		reviewed(c.Sources, r, now)
		destinations(c, r)
	}}
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return strconv.Itoa(n) + " " + what + "s"
}

func listeners(c *config.Config, r *Report) {
	if !loopback(c.Admin.Addr) {
		r.Warn("bind it to loopback, or to a network that only operators and their TLS proxy reach", "admin.addr %s takes operators' tokens in clear on more than this machine", c.Admin.Addr)
	}
	if c.Telemetry.Addr != "" && !loopback(c.Telemetry.Addr) {
		r.Warn("bind it to loopback, or to a network that only scrapers and probes reach", "telemetry.addr %s answers whoever reaches it: it asks for no token", c.Telemetry.Addr)
	}
	if u, err := url.Parse(c.Admin.URL); err == nil && u.Scheme == "http" && !loopback(u.Host) {
		r.Warn("use https", "admin.url is plain http: the command line sends the operator's token in clear")
	}
	for _, p := range c.Ingress.TrustedProxies {
		if p.Bits() == 0 {
			r.Warn("list the balancers' own addresses", "ingress.trusted_proxies has %s: any peer may say which address it comes from", p)
		}
	}
	if u, err := url.Parse(c.Ingress.PublicURL); err == nil && u.Scheme == "http" && !loopback(u.Host) {
		r.Warn("let senders come by https", "ingress.public_url is plain http: what bearer senders prove themselves with can be read on the way")
	}
}

func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = address
	}
	addr, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || err == nil && addr.IsLoopback()
}

// reviewed says which sources nobody has looked at, or not for long.
func reviewed(sources []config.Source, r *Report, now time.Time) {
	const remedy = "look at who may send for whom, then set sources.NAME.reviewed to the date"
	var never []string
	for _, s := range sources {
		date, err := time.Parse(time.DateOnly, s.Reviewed)
		switch {
		case s.Reviewed == "" || err != nil:
			never = append(never, s.Name)
		case now.Sub(date) > reviewEvery:
			r.Warn(remedy, "source %s was last reviewed on %s", s.Name, s.Reviewed)
		}
	}
	switch len(never) {
	case 0:
	case 1:
		r.Warn(remedy, "source %s was never reviewed", never[0])
	default:
		r.Warn(remedy, "sources %s were never reviewed", and(never))
	}
}

func credentials(s config.Source, r *Report, now time.Time) {
	live := 0
	for _, p := range s.Principals {
		for _, c := range p.Credentials {
			switch left := c.Expires.Sub(now); {
			case c.Expires.IsZero():
				live++
			case left <= 0:
				r.Warn("remove it from the configuration, and revoke it at the sender", "source %s: credential %s of %s expired on %s", s.Name, c.Version, p.Name, c.Expires.Format(time.DateOnly))
			case left < expiresSoon:
				live++
				r.Warn("add the next version beside it, and give that to the sender", "source %s: credential %s of %s expires on %s", s.Name, c.Version, p.Name, c.Expires.Format(time.DateOnly))
			default:
				live++
			}
		}
	}
	if live == 0 {
		r.Block("add a credential that has not expired", "source %s: no credential is live: every delivery is answered 401", s.Name)
	}
}

// routed says which types are accepted and start nothing. That is what "*" is for.
func routed(s config.Source, provider oncehook.Provider, routes oncehook.Routes, r *Report) {
	if slices.Contains(s.Types, config.AllTypes) {
		if !slices.ContainsFunc(routes, func(route oncehook.Route) bool {
			return route.Provider == s.Provider && (route.Source == "" || route.Source == s.Name)
		}) {
			r.OK("source %s takes every type, and no workflow is for one: all are recorded and end ignored", s.Name)
		}
		return
	}
	var idle []string
	for _, t := range s.Types {
		if _, ok := routes.Workflow(s.Provider, s.Name, t); !ok {
			idle = append(idle, t)
		}
	}
	if len(idle) == 0 {
		return
	}
	then := "answered 422"
	if p, ok := provider.(oncehook.Acknowledger); ok && p.Acknowledges(oncehook.CodeTypeUnrecognized) {
		then = "acknowledged and kept as rejected"
	}
	r.Warn("add the workflow to the catalog, or remove the type: its events are "+then+" then",
		"source %s: no workflow is for %s: such events are recorded and end ignored", s.Name, strings.Join(idle, ", "))
}

func destinations(c *config.Config, r *Report) {
	for name, d := range c.Destinations {
		if u, err := url.Parse(d.URL); err == nil && u.Scheme == "http" && len(d.Token) > 0 && !loopback(u.Host) {
			r.Warn("use https", "destinations.%s: its token is sent in clear", name)
		}
	}
}
