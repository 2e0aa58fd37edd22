package dispatch_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/internal/devstack"
	"github.com/oncehook/oncehook/internal/devstack/pgtest"
)

func TestMain(m *testing.M) {
	code := pgtest.Run(m)
	if err := shared.stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = max(code, 1)
	}
	os.Exit(code)
}

// shared is the Temporal server of this test binary, in memory. Nobody polls its
// task queue: what is started stays open. Tests use event keys of their own.
var shared temporalServer

type temporalServer struct {
	once   sync.Once
	server *devstack.Temporal
	dir    string
	err    error
}

const startTimeout = 10 * time.Minute // the first use may have to build it

func (s *temporalServer) address(t *testing.T) string {
	t.Helper()
	s.once.Do(func() { s.err = s.start() })
	require.NoError(t, s.err)
	return s.server.Address()
}

func (s *temporalServer) start() error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	root, err := devstack.FindRoot()
	if err != nil {
		return err
	}
	binary, err := devstack.EnsureTemporalDev(ctx, root, nil)
	if err != nil {
		return err
	}
	if s.dir, err = os.MkdirTemp("", "oncehook-dispatch-"); err != nil {
		return err
	}
	attributes := map[string]string{}
	for _, name := range oncehook.SearchAttributes() {
		attributes[name] = "Keyword"
	}
	s.server, err = devstack.StartTemporal(ctx, devstack.TemporalConfig{
		Binary: binary, Headless: true, SearchAttributes: attributes, LogFile: filepath.Join(s.dir, "temporal.log"),
	})
	return err
}

func (s *temporalServer) stop() error {
	if s.server != nil {
		if err := s.server.Kill(); err != nil {
			return err
		}
	}
	if s.dir == "" {
		return nil
	}
	return os.RemoveAll(s.dir)
}
