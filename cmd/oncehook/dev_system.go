package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/config"
)

// system is oncehook itself: all of its roles in this process.
type system struct {
	app        *app.App
	server     *app.Server
	ingressURL string
	adminURL   string
	log        io.Closer
	temporal   *temporal

	workEnded chan struct{} // closed when work has returned, with workErr
	workErr   error
	stopWork  context.CancelFunc
}

// startSystem migrates and starts the listeners, then writes the configuration
// again with the ports that they got.
func (d *dev) startSystem(ctx context.Context) (*system, error) {
	if err := d.writeConfig(d.IngressAddr, d.AdminAddr); err != nil {
		return nil, err
	}
	settings, err := config.Load(d.ownConfig(), d.ownEnviron)
	if err != nil {
		return nil, err
	}
	logFile, err := openLog(d.path(devLog))
	if err != nil {
		return nil, err
	}
	s := &system{log: logFile, temporal: d.temporal}
	log := slog.New(slog.NewMultiHandler(
		slog.NewJSONHandler(logFile, nil),
		slog.NewTextHandler(d.stderr, &slog.HandlerOptions{Level: slog.LevelError}),
	))
	if s.app, err = app.New(app.Config{Settings: settings, Log: log}); err != nil {
		return nil, errors.Join(err, logFile.Close())
	}
	done := d.say.step("migrating the database")
	err = s.app.Migrate(ctx)
	done()
	if err != nil {
		return nil, errors.Join(err, logFile.Close())
	}
	if s.server, err = s.app.StartServe(ctx, ""); err != nil {
		return nil, errors.Join(err, logFile.Close())
	}
	ingress, admin := bound(d.IngressAddr, s.server.IngressURL()), bound(d.AdminAddr, s.server.AdminURL())
	s.ingressURL, s.adminURL = "http://"+reachable(ingress), "http://"+reachable(admin)
	return s, d.writeConfig(ingress, admin)
}

// ownEnviron hides the settings of other installations: dev has flags instead.
func (d *dev) ownEnviron(name string) (string, bool) {
	if strings.HasPrefix(name, oncehook.EnvPrefix) {
		return "", false
	}
	return d.environ(name)
}

// devLog is the log's name in the data folder.
const devLog = "oncehook.log"

// maxLog is when a start begins a new log.
const maxLog = 50 << 20

func openLog(path string) (*os.File, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > maxLog {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}
	return f, nil
}

// startWork returns once the dispatcher and the worker run.
func (s *system) startWork(ctx context.Context, say *progress) error {
	done := say.step("connecting the worker to Temporal")
	defer done()
	workCtx, cancel := context.WithCancel(ctx)
	s.stopWork, s.workEnded = cancel, make(chan struct{})
	running := make(chan struct{})
	go func() {
		defer close(s.workEnded)
		s.workErr = s.app.Work(workCtx, func() { close(running) })
	}()
	select {
	case <-running:
	case <-s.workEnded:
		if s.workErr == nil {
			return ctx.Err()
		}
		return s.workErr
	}
	if s.temporal.given {
		s.warnOfRetention(ctx, say)
	}
	return nil
}

// shortRetention is the least that lets closed runs be looked at days later.
const shortRetention = 3 * 24 * time.Hour

// warnOfRetention says when the given server forgets closed runs soon.
func (s *system) warnOfRetention(ctx context.Context, say *progress) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	options, err := s.app.TemporalOptions()
	if err != nil {
		return
	}
	c, err := client.DialContext(ctx, options)
	if err != nil {
		return
	}
	defer c.Close()
	r, err := c.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{Namespace: options.Namespace})
	if err != nil {
		return
	}
	if kept := r.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(); kept > 0 && kept < shortRetention {
		say.line(fmt.Sprintf("warning: this Temporal server forgets closed runs after %s; receipts and traces stay", kept))
	}
}

// wait returns when a role has ended, with the reason.
func (s *system) wait() error {
	served := make(chan error, 1)
	go func() { served <- s.server.Wait() }()
	select {
	case err := <-served:
		return err
	case <-s.workEnded:
		return s.workErr
	}
}

// stop ends the roles, or gives up on them when ctx ends.
func (s *system) stop(ctx context.Context) error {
	if s.stopWork != nil {
		s.stopWork()
	}
	err := s.server.Stop(ctx)
	if s.workEnded != nil {
		select {
		case <-s.workEnded:
		case <-ctx.Done():
		}
	}
	return errors.Join(err, s.log.Close())
}
