package harness

import (
	"fmt"
	"os"
	"time"

	"github.com/stretchr/testify/require"
)

// envClock shifts a role's clock by a duration, such as 1440h.
const envClock = "ONCEHOOK_TEST_CLOCK"

// clock is the clock that a role is to use.
func clock() (func() time.Time, error) {
	text := os.Getenv(envClock)
	if text == "" {
		return time.Now, nil
	}
	shift, err := time.ParseDuration(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", envClock, err)
	}
	return func() time.Time { return time.Now().Add(shift) }, nil
}

// ServeAt starts a `serve` process whose clock is ahead by that much.
func (s *System) ServeAt(ahead time.Duration) *Process {
	s.T.Helper()
	return start(s.T, roleServe, s.ConfigFile, envClock+"="+ahead.String())
}

// WorkAt starts a `work` process whose clock is ahead by that much.
func (s *System) WorkAt(ahead time.Duration) *Process {
	s.T.Helper()
	return start(s.T, roleWork, s.ConfigFile, envClock+"="+ahead.String())
}

// BeginWorkAt is WorkAt without waiting until the process is ready.
func (s *System) BeginWorkAt(ahead time.Duration) *Process {
	s.T.Helper()
	p, _ := launch(s.T, roleWork, s.ConfigFile, envClock+"="+ahead.String())
	return p
}

// RetentionAt starts `migrate retention --apply` as a process whose clock is
// ahead by that much. It returns when the process has begun.
func (s *System) RetentionAt(ahead time.Duration) *Process {
	s.T.Helper()
	return start(s.T, roleRetention, s.ConfigFile, envClock+"="+ahead.String())
}

// Done waits until the process has ended by itself, and fails the test if it failed.
func (p *Process) Done() {
	p.t.Helper()
	select {
	case <-p.exited:
	case <-time.After(startTimeout):
		require.FailNow(p.t, "the process did not end", p.output.String())
	}
	require.NoError(p.t, p.err, p.output.String())
}
