// Package admin is the operators' side of oncehook: the admin API, spec first.
//
// openapi.yaml is the source; package api is generated from it. Whoever has no
// valid token learns nothing, not even which paths exist, but for the four
// paths that a balancer and a metrics scraper need, and for what the pages of the
// configured Temporal UI may call.
package admin

import (
	"context"
	"log/slog"
	"net/http"
	"sync"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/oncehook/oncehook/internal/admin/api"
	"github.com/oncehook/oncehook/internal/codec"
	"github.com/oncehook/oncehook/internal/store"
)

// Config is what New needs.
type Config struct {
	Store *store.Admin
	// Ready says why the process should get no traffic, or nil. PostgreSQL being
	// away is no reason. Defaults to always ready.
	Ready func(context.Context) error
	// Metrics serves /metrics. Defaults to an empty answer.
	Metrics http.Handler
	// TemporalUI is the base URL of Temporal's UI, or "" when there is none.
	TemporalUI string
	// Namespace is the Temporal namespace. Defaults to "default".
	Namespace string
	// Sources are the configured sources: whose hashed ids a look-up can find.
	Sources []store.LookupSource
	// Codec decrypts the payloads of the namespace for operators. Nil: there is no
	// codec endpoint.
	Codec *codec.Codec
	// Now is the process's clock. Defaults to time.Now.
	Now func() time.Time
	// Log defaults to slog.Default.
	Log *slog.Logger
}

// server implements the generated api.StrictServerInterface.
type server struct {
	Config
	// uiOrigins are TemporalUI's: whose pages may use the codec.
	uiOrigins []string
	database  pulse
	// document is the API's own, made once.
	document func() ([]byte, error)
}

// New returns the handler of the admin API.
func New(c Config) http.Handler {
	if c.Ready == nil {
		c.Ready = func(context.Context) error { return nil }
	}
	if c.Metrics == nil {
		c.Metrics = http.HandlerFunc(func(http.ResponseWriter, *http.Request) {})
	}
	if c.Namespace == "" {
		c.Namespace = "default"
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &server{Config: c, uiOrigins: originsOf(c.TemporalUI), document: sync.OnceValues(Document)}
	e := echo.New()
	e.HTTPErrorHandler = s.problem
	e.Pre(s.codecDoor)
	// Before routing: an unknown path must not answer otherwise than a known one.
	e.Pre(s.authenticate)
	api.RegisterHandlers(e, api.NewStrictHandler(s, nil))
	e.GET(pathDocument, s.serveDocument)
	e.GET(pathMetrics, echo.WrapHandler(c.Metrics))
	return e
}
