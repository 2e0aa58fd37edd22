package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"go.temporal.io/server/common/authorization"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/log"
	"go.temporal.io/server/temporal"
)

// stopTimeout bounds a clean stop. Past it the process ends all the same: what was
// acknowledged is in the file already.
const stopTimeout = 4 * time.Second

// serve runs the server in the foreground until SIGINT or SIGTERM and writes one line to
// stdout once it is ready. Whatever is wrong with ports or file is found before anything
// starts. A signal at any time is a clean end, nil.
func serve(o options, stdout io.Writer) error {
	ctx, cancel := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer cancel()

	reserved, err := reservePorts(o)
	if err != nil {
		return err
	}
	defer reserved.release()
	if o.DBFilename != "" {
		// A SQLite URI reads a path with two leading slashes as a host.
		if o.DBFilename, err = filepath.Abs(o.DBFilename); err != nil {
			return fmt.Errorf("database file: %w", err)
		}
		if err := checkFile(o.DBFilename); err != nil {
			return err
		}
		lock, err := lockFile(o.DBFilename)
		if err != nil {
			return err
		}
		defer func() { _ = lock.Close() }()
		if err := prepareDatabase(ctx, o.DBFilename); err != nil {
			return err
		}
	}
	store := sqlConfig(o.DBFilename)
	if err := createNamespaces(store, o.Namespaces); err != nil {
		return err
	}
	// The server opens its listeners as it is created.
	reserved.release()
	door := &gate{}
	logger := newLogger(o.LogLevel, o.LogFormat)
	server, err := newServer(o, reserved.ports, store, door, logger)
	if err != nil {
		return fmt.Errorf("create server: %w", err)
	}
	if err := server.Start(); err != nil {
		return fmt.Errorf("start server: %w", err)
	}
	err = runUntil(ctx, o, reserved.ports, stdout, func() {
		door.open.Store(true)
		logger.settled(true)
	})
	logger.settled(false)
	stop(server)
	if o.DBFilename != "" {
		checkpoint(o.DBFilename)
	}
	if ctx.Err() != nil {
		return nil
	}
	return err
}

// runUntil takes the started server to readiness, calls settled, and waits for ctx to end.
func runUntil(ctx context.Context, o options, p ports, stdout io.Writer, settled func()) error {
	ready := "temporal-dev ready: frontend " + address(o.IP, p.Frontend)
	if !o.Headless {
		ui := newUI(o.IP, p, o.UICodecEndpoint)
		go func() { _ = ui.Start() }()
		defer ui.Stop()
		url := "http://" + address(o.IP, p.UI)
		if err := waitForUI(ctx, url); err != nil {
			return fmt.Errorf("start web UI: %w", err)
		}
		ready += ", ui " + url
	}
	if err := finishSetup(ctx, address(o.IP, p.Frontend), o); err != nil {
		return err
	}
	settled()
	if _, err := fmt.Fprintln(stdout, ready); err != nil {
		return fmt.Errorf("report readiness: %w", err)
	}
	<-ctx.Done()
	return nil
}

func newServer(o options, p ports, store *config.SQL, door *gate, logger log.Logger) (temporal.Server, error) {
	conf := serverConfig(o.IP, p, store)
	authorizer, err := authorization.GetAuthorizerFromConfig(&conf.Global.Authorization)
	if err != nil {
		return nil, err
	}
	claims, err := authorization.GetClaimMapperFromConfig(&conf.Global.Authorization, logger)
	if err != nil {
		return nil, err
	}
	return temporal.NewServer(
		temporal.WithConfig(conf),
		temporal.ForServices(temporal.DefaultServices),
		temporal.WithStaticHosts(staticHosts(o.IP, p)),
		temporal.WithLogger(logger),
		temporal.WithAuthorizer(authorizer),
		temporal.WithClaimMapper(func(*config.Config) authorization.ClaimMapper { return claims }),
		temporal.WithDynamicConfigClient(dynamicConfig(o.DynamicConfig)),
		temporal.WithChainedFrontendGrpcInterceptors(door.intercept),
	)
}

// stop stops the server, for at most stopTimeout.
func stop(server temporal.Server) {
	stopped := make(chan error, 1)
	go func() { stopped <- server.Stop() }()
	var err error
	select {
	case err = <-stopped:
	case <-time.After(stopTimeout):
		err = errors.New("took too long")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "temporal-dev: stop server:", err)
	}
}
