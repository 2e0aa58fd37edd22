package app

import (
	"net/http"
	"net/url"
	"strconv"

	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/egress"
	"github.com/oncehook/oncehook/internal/telemetry"
)

// Outside is how effects reach other systems.
type Outside struct {
	// Client sends an effect's requests: guarded, and with effect.Transport.
	Client *http.Client
	// Destinations are the configured places, by name.
	Destinations map[string]effect.Destination
}

// Destination returns the configured place of that name. A request to one that
// is not configured fails for good and names the missing setting.
func (o Outside) Destination(name string) effect.Destination {
	if d, ok := o.Destinations[name]; ok {
		return d
	}
	return effect.Destination{Name: name}
}

func newOutside(s *Settings, traces *telemetry.Traces) Outside {
	var c egress.Config
	for _, t := range s.Egress.Allow {
		c.Allow = append(c.Allow, egress.Target{Prefix: t.Prefix, Port: t.Port})
	}
	out := Outside{Destinations: map[string]effect.Destination{}}
	for name, d := range s.Destinations {
		out.Destinations[name] = effect.Destination{Name: name, URL: d.URL, Token: d.Token}
		if port, ok := portOf(d.URL); ok {
			c.Ports = append(c.Ports, port)
		}
	}
	out.Client = egress.NewClient(c)
	out.Client.Transport = effect.Transport(telemetry.Transport(out.Client.Transport, traces))
	return out
}

// portOf returns the port that a URL spells.
func portOf(target string) (uint16, bool) {
	u, err := url.Parse(target)
	if err != nil {
		return 0, false
	}
	port, err := strconv.ParseUint(u.Port(), 10, 16)
	return uint16(port), err == nil
}
