// Package ingress receives webhooks over HTTP. A request is authenticated before
// anything is said about its body, and where the header can prove it wrong before
// a byte of that is read; it reserves nothing before it is authorized, and
// is answered 2xx only after its events are committed.
package ingress

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"time"

	"github.com/labstack/echo/v4"
	"go.opentelemetry.io/otel/trace"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/metrics"
	"github.com/oncehook/oncehook/internal/store"
)

// Config is what New needs.
type Config struct {
	Store   *store.Ingress
	Keyring *keyring.Keyring
	Sources []Source
	Routes  oncehook.Routes
	// PublicURL is how senders see this endpoint, without a trailing slash; "" means
	// that they see it as the request names it.
	PublicURL string
	// TrustedProxies are the peers whose X-Forwarded-For and X-Forwarded-Proto are believed.
	TrustedProxies []netip.Prefix
	// Now is the clock of stored times and of adapters. Defaults to time.Now.
	Now func() time.Time
	// Log defaults to slog.Default.
	Log *slog.Logger
	// Metrics may be nil.
	Metrics *metrics.Metrics
	// Tracer makes a span of each delivery; nil makes none.
	Tracer   trace.Tracer
	Timeouts Timeouts
	// BodyBudget is how many bytes all bodies in flight may hold, of all sources;
	// beyond it requests are answered 503. Defaults to 256 MiB.
	BodyBudget int64
}

// Timeouts bounds the phases of a request; zero means the default.
type Timeouts struct {
	// Body is how long a whole body may take. Defaults to 10 s.
	Body time.Duration
	// Evidence is how long a refusal may wait for its evidence. Defaults to 5 s.
	Evidence time.Duration
}

const (
	defaultBodyTimeout     = 10 * time.Second
	defaultEvidenceTimeout = 5 * time.Second
	defaultBodyBudget      = 256 << 20
)

// Source is one endpoint.
type Source struct {
	Name string
	// Kind is the provider kind, as the catalog names it.
	Kind     string
	Provider oncehook.Provider
	// Types are the recognized event types; AllTypes alone recognizes every one.
	Types         []string
	DefaultTenant string
	// PersonalIDs keeps event ids out of keys and tables.
	PersonalIDs bool
	// BodyLimit is the largest body in bytes.
	BodyLimit int64
	// Rate is new events per second and tenant, 0 for no limit; Burst is how many at once.
	Rate  float64
	Burst int
	// Retention is the retention class of accepted payloads.
	Retention string
}

// AllTypes in a source's types recognizes every event type.
const AllTypes = "*"

// recognizes reports whether the source takes events of the type.
func (s *Source) recognizes(eventType string) bool {
	if slices.Contains(s.Types, eventType) || len(s.Types) == 1 && s.Types[0] == AllTypes {
		return true
	}
	p, ok := s.Provider.(oncehook.TypeRecognizer)
	return ok && p.RecognizesType(eventType)
}

// server is the ingress's handler and what its requests share.
type server struct {
	Config
	sources  map[string]*Source
	limits   *rateLimits
	bodies   bodyBudget
	refusals *refusalLog
}

// New returns the handler of `POST /hooks/{source}`. It answers refusals as
// problem documents, and every other path with 404.
func New(c Config) (http.Handler, error) {
	if c.Store == nil || c.Keyring == nil {
		return nil, errors.New("ingress: needs a store and a keyring")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Timeouts.Body <= 0 {
		c.Timeouts.Body = defaultBodyTimeout
	}
	if c.Timeouts.Evidence <= 0 {
		c.Timeouts.Evidence = defaultEvidenceTimeout
	}
	if c.BodyBudget <= 0 {
		c.BodyBudget = defaultBodyBudget
	}
	s := &server{Config: c, bodies: bodyBudget{most: c.BodyBudget}, sources: map[string]*Source{}, limits: newRateLimits(), refusals: newRefusalLog(c.Log, c.Now)}
	for n := range c.Sources {
		source := c.Sources[n]
		if err := checkSource(&source); err != nil {
			return nil, err
		}
		if s.sources[source.Name] != nil {
			return nil, fmt.Errorf("ingress: source %q is given twice", source.Name)
		}
		s.sources[source.Name] = &source
	}
	e := echo.New()
	e.HTTPErrorHandler = s.fallback
	e.Use(s.protect)
	// One handler for every method and path: whether the source exists is decided
	// before its methods, and by the path as the sender escaped it.
	e.RouteNotFound("/*", s.serve)
	return e, nil
}

func checkSource(s *Source) error {
	_, known := store.RetentionClasses()[s.Retention]
	switch {
	case s.Provider == nil:
		return fmt.Errorf("ingress: source %q has no provider", s.Name)
	case len(s.Types) == 0:
		return fmt.Errorf("ingress: source %q recognizes no event type", s.Name)
	case s.BodyLimit <= 0:
		return fmt.Errorf("ingress: source %q has no body limit", s.Name)
	case !known:
		return fmt.Errorf("ingress: source %q has the unknown retention class %q", s.Name, s.Retention)
	case s.Rate > 0 && s.Burst <= 0:
		return fmt.Errorf("ingress: source %q has a rate and no burst", s.Name)
	}
	return nil
}
