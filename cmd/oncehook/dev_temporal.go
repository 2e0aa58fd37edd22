package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack"
)

// temporal is the Temporal server that dev runs, or one that was given.
type temporal struct {
	address   string
	namespace string
	uiURL     string
	// given says that the environment names a server that runs already.
	given bool

	dir    string
	root   string         // the checkout that holds the server's sources
	held   []net.Listener // keep the ports from others until the server starts
	config devstack.TemporalConfig
	server *devstack.Temporal
}

const devNamespace = "default"

// reserveTemporal decides where Temporal will be, so that what is started
// before it can know.
func (d *dev) reserveTemporal() (*temporal, error) {
	t := &temporal{namespace: devNamespace, dir: d.dir}
	if address, ok := d.environ("TEMPORAL_ADDRESS"); ok && address != "" {
		t.address, t.given = address, true
		if namespace, ok := d.environ("TEMPORAL_NAMESPACE"); ok && namespace != "" {
			t.namespace = namespace
		}
		d.say.line("using the Temporal server that TEMPORAL_ADDRESS names")
		return t, nil
	}
	if err := ignoreTemporalSettings(d.say); err != nil {
		return nil, err
	}
	// Without its sources there will be no server: better said now.
	var err error
	if t.root, err = devstack.FindRoot(); err != nil {
		return nil, err
	}
	for _, reserve := range []struct {
		port *int
		flag string
	}{{&d.TemporalPort, "--temporal-port"}, {&d.UIPort, "--ui-port"}} {
		l, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(*reserve.port)))
		if err != nil {
			return nil, errors.Join(fmt.Errorf("port %d is taken by another program: choose another by %s, 0 for a free one", *reserve.port, reserve.flag), t.release())
		}
		*reserve.port = l.Addr().(*net.TCPAddr).Port
		t.held = append(t.held, l)
	}
	t.address = net.JoinHostPort("127.0.0.1", strconv.Itoa(d.TemporalPort))
	t.uiURL = "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(d.UIPort))
	t.config = devstack.TemporalConfig{Port: d.TemporalPort, UIPort: d.UIPort, Namespace: t.namespace, LogFile: d.path("temporal.log"), Progress: d.say.line}
	return t, nil
}

// ignoreTemporalSettings takes TEMPORAL_* out of this process: they speak of
// another server and would win over the configuration.
func ignoreTemporalSettings(say *progress) error {
	for _, setting := range os.Environ() {
		name, _, _ := strings.Cut(setting, "=")
		if !strings.HasPrefix(name, "TEMPORAL_") {
			continue
		}
		say.line(name + " is ignored, since TEMPORAL_ADDRESS is not set")
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return nil
}

func (t *temporal) release() error {
	var err error
	for _, l := range t.held {
		err = errors.Join(err, l.Close())
	}
	t.held = nil
	return err
}

// start builds the server if need be, and returns when it answers.
func (t *temporal) start(ctx context.Context, say *progress) error {
	if t.given {
		return nil
	}
	var err error
	if t.config.Binary, err = devstack.EnsureTemporalDev(ctx, t.root, say.line); err != nil {
		return err
	}
	version, _, err := devstack.TemporalVersion(ctx, t.config.Binary)
	if err != nil {
		return err
	}
	// Another version gets a file of its own: it might not read this one's.
	t.config.DBFile = t.dir + "/temporal-" + version + ".db"
	t.config.SearchAttributes = map[string]string{}
	for _, name := range oncehook.SearchAttributes() {
		t.config.SearchAttributes[name] = "Keyword"
	}
	if err := t.release(); err != nil {
		return err
	}
	t.server, err = devstack.StartTemporal(ctx, t.config)
	return err
}

// keep starts the server again whenever it dies, and returns when that fails or ctx ends.
func (t *temporal) keep(ctx context.Context, say *progress) error {
	if t.server == nil {
		<-ctx.Done()
		return ctx.Err()
	}
	return keep(ctx, say, "Temporal", func() <-chan struct{} { return t.server.Done() }, func() error {
		// Gives up the dead server's lock.
		if err := t.server.Stop(ctx); err != nil {
			return err
		}
		server, err := devstack.StartTemporal(ctx, t.config)
		if err == nil {
			t.server = server
		}
		return err
	})
}

func (t *temporal) stop(ctx context.Context) error {
	if t == nil {
		return nil
	}
	err := t.release()
	if t.server != nil {
		if stopErr := t.server.Stop(ctx); stopErr != nil {
			err = errors.Join(err, fmt.Errorf("stop Temporal: %w", stopErr))
		}
	}
	return err
}
