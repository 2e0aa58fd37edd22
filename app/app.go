// Package app builds a running system from a configuration: what the oncehook
// command, the tests and other people's binaries start.
//
// It is the one place that knows every part. A binary of one's own adds its
// providers, workflows and side effects to Standard and runs the same roles.
package app

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/effect"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/keyring"
	"github.com/oncehook/oncehook/internal/metrics"
	"github.com/oncehook/oncehook/internal/store"
	"github.com/oncehook/oncehook/internal/telemetry"
)

// Config is what New needs.
type Config struct {
	// Settings is the loaded configuration (LoadSettings).
	Settings *Settings
	// Parts is what the system is made of. Defaults to Standard().
	Parts *Parts
	// Now is the process's clock for stored times and partitions. Defaults to time.Now.
	Now func() time.Time
	// Log defaults to JSON on standard error.
	Log *slog.Logger
	// Version of the program, for telemetry. Defaults to "development".
	Version string
}

// App is one process's view of the system. Its roles may run together or apart.
type App struct {
	settings *Settings
	parts    *Parts
	keys     *keyring.Keyring
	registry *effect.Registry
	metrics  *metrics.Metrics
	now      func() time.Time
	log      *slog.Logger
	process  uuid.UUID
	traces   *telemetry.Traces
	runs     *telemetry.Runs

	mu   sync.Mutex
	wake func() // the dispatcher of this process, if there is one
}

// New checks the configuration and the parts against each other and opens the
// keys. It connects to nothing.
func New(c Config) (*App, error) {
	if c.Settings == nil {
		return nil, errors.New("app: no configuration")
	}
	if c.Parts == nil {
		parts := Standard()
		c.Parts = &parts
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.NewJSONHandler(os.Stderr, nil))
	}
	if c.Version == "" {
		c.Version = "development"
	}
	keys, err := keyring.Load(c.Settings.Keys.Identity, c.Settings.Keys.Keyset)
	if err != nil {
		return nil, fmt.Errorf("load the keys: %w", err)
	}
	m, err := metrics.New()
	if err != nil {
		return nil, err
	}
	process, err := uuid.NewV7()
	if err != nil {
		return nil, fmt.Errorf("name the process: %w", err)
	}
	a := &App{
		settings: c.Settings, parts: c.Parts, keys: keys, metrics: m,
		now: c.Now, log: c.Log, process: process,
	}
	if err := a.startTelemetry(c.Version); err != nil {
		return nil, err
	}
	a.registry, err = effect.NewRegistry(c.Parts.Actions, c.Parts.Bindings(newOutside(c.Settings, a.traces)))
	if err != nil {
		return nil, fmt.Errorf("register the side effects: %w", err)
	}
	return a, nil
}

func (a *App) storeOptions(role string, conns int) store.Options {
	return store.Options{
		URL:             string(a.settings.DatabaseURL(role)),
		Conns:           conns,
		Keyring:         a.keys,
		Now:             a.now,
		Log:             a.log,
		ApplicationName: "oncehook " + role,
		Process:         a.process,
		Passing:         role == config.RoleMigrate,
	}
}

func (a *App) setWake(wake func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.wake = wake
}

// accepted wakes the dispatcher of this process; elsewhere polling finds the rows.
func (a *App) accepted() {
	a.mu.Lock()
	wake := a.wake
	a.mu.Unlock()
	if wake != nil {
		wake()
	}
}

// Routes returns the catalog.
func (a *App) Routes() oncehook.Routes { return a.parts.Routes }
