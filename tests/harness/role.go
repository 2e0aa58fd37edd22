// Package harness runs oncehook as it runs in production, for tests: real
// PostgreSQL, a real Temporal server, and every role as a process of its own
// that a test can kill at a barrier.
package harness

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"testing"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
	"github.com/oncehook/oncehook/providers"
)

// envRole makes a re-execution of the test binary run a role instead of tests.
const envRole = "ONCEHOOK_TEST_ROLE"

// envOnly restricts a serve process to one listener.
const envOnly = "ONCEHOOK_TEST_ONLY"

// Roles of a child process.
const (
	roleServe     = "serve"
	roleWork      = "work"
	roleRetention = "retention"
)

// Main is the body of TestMain: it runs the tests, or the role that a test
// asked this process for.
func Main(m *testing.M) int { return MainWith(m, Parts) }

// MainWith is Main for tests whose roles have parts of their own.
func MainWith(m *testing.M, parts func() app.Parts) int {
	role := os.Getenv(envRole)
	if role == "" {
		return pgtest.Run(m)
	}
	if err := runRole(role, parts()); err != nil {
		fmt.Fprintln(os.Stderr, "role "+role+":", err)
		return 1
	}
	return 0
}

// readiness is the line that a role prints once it runs.
type readiness struct {
	IngressURL string `json:"ingress_url"`
	AdminURL   string `json:"admin_url"`
}

func runRole(role string, parts app.Parts) error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	go func() {
		// The parent holds the other end: its death ends this process.
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(3)
	}()
	settings, err := config.Load(os.Getenv(oncehook.EnvConfig), os.LookupEnv)
	if err != nil {
		return err
	}
	now, err := clock()
	if err != nil {
		return err
	}
	a, err := app.New(app.Config{Settings: settings, Parts: &parts, Now: now, Log: slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: settings.Log.Level}))})
	if err != nil {
		return err
	}
	switch role {
	case roleWork:
		return a.Work(ctx, func() { announce(readiness{}) })
	case roleDrain:
		return drainRole(ctx, a)
	case roleServe:
		s, err := a.StartServe(ctx, os.Getenv(envOnly))
		if err != nil {
			return err
		}
		announce(readiness{IngressURL: s.IngressURL(), AdminURL: s.AdminURL()})
		<-ctx.Done()
		return s.Stop(context.WithoutCancel(ctx))
	case roleRetention:
		announce(readiness{})
		_, err := a.Retain(ctx, true)
		return err
	default:
		return fmt.Errorf("there is no such role")
	}
}

func announce(r readiness) {
	line, err := json.Marshal(r)
	if err == nil {
		fmt.Println(string(line))
	}
}

// Parts are the shipped parts and the test provider.
func Parts() app.Parts {
	parts := app.Standard()
	parts.Provider = func(kind string, source oncehook.Source) (oncehook.Provider, error) {
		if kind == BatchKind {
			return newBatch(source)
		}
		return providers.New(kind, source)
	}
	parts.Routes = append(parts.Routes, oncehook.Route{Provider: BatchKind, Type: ArrivalType, Workflow: "ShipmentDepotArrival"})
	withTestWorkflows(&parts)
	withRemoteWorkflows(&parts)
	return parts
}
