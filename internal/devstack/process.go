package devstack

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"
)

// maxLogBytes is the size over which a log file is started anew.
const maxLogBytes = 16 << 20

// processSpec says how to start a child.
type processSpec struct {
	path string
	args []string
	env  []string // nil: the parent's
	// account runs the child as another user; nil: as ourselves.
	account *account
	logFile string
	// deathSignal reaches the child when this process dies, on systems that can do so.
	deathSignal syscall.Signal
}

// process is a child in a process group of its own, so that a terminal's interrupt reaches the parent alone, which
// then stops its children in order.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed once the child is reaped
	err  error         // what Wait returned; read it after done
}

// startProcess starts a child that appends its output to the spec's log file.
func startProcess(spec processSpec) (*process, error) {
	log, err := openLog(spec.logFile)
	if err != nil {
		return nil, err
	}
	defer log.Close()

	cmd := exec.Command(spec.path, spec.args...)
	cmd.Dir = "/" // a folder that every user may enter
	cmd.Env = spec.env
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: spec.account.credential()}
	setParentDeathSignal(cmd.SysProcAttr, spec.deathSignal)

	p := &process{cmd: cmd, done: make(chan struct{})}
	started := make(chan error, 1)
	go func() {
		// The kernel sends the parent-death signal when the thread that forked ends, not the process. This
		// goroutine keeps that thread until the child is gone.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := cmd.Start()
		started <- err
		if err != nil {
			return
		}
		p.err = cmd.Wait()
		close(p.done)
	}()
	if err := <-started; err != nil {
		return nil, fmt.Errorf("start %s: %w", spec.path, err)
	}
	return p, nil
}

func (p *process) pid() int { return p.cmd.Process.Pid }

// exited reports whether the child is gone.
func (p *process) exited() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// signal sends s to the child. A child that is already gone is no error.
func (p *process) signal(s os.Signal) error {
	if err := p.cmd.Process.Signal(s); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", p.pid(), err)
	}
	return nil
}

// stop sends the signals in turn, each followed by its grace, until the child is gone; then it kills the group. The
// end of ctx ends the first grace early.
func (p *process) stop(ctx context.Context, steps ...stopStep) error {
	for i, step := range steps {
		if err := p.signal(step.signal); err != nil {
			return err
		}
		interrupted := ctx.Done()
		if i > 0 {
			interrupted = nil
		}
		timer := time.NewTimer(step.grace)
		select {
		case <-p.done:
		case <-timer.C:
		case <-interrupted:
		}
		timer.Stop()
		if p.exited() {
			return nil
		}
	}
	return p.kill()
}

// stopStep is a signal and the time a process gets to act on it.
type stopStep struct {
	signal syscall.Signal
	grace  time.Duration
}

// kill sends SIGKILL to the child's process group and waits until the child is reaped.
func (p *process) kill() error {
	if p.exited() {
		return nil
	}
	if err := syscall.Kill(-p.pid(), syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
		return fmt.Errorf("kill process group %d: %w", p.pid(), err)
	}
	<-p.done
	return nil
}

// openLog opens a log file for appending, emptied when it has grown too large.
func openLog(path string) (*os.File, error) {
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Size() > maxLogBytes {
		flags |= os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	return f, nil
}

// poll calls done every interval until it reports true or an error, or ctx ends.
func poll(ctx context.Context, interval time.Duration, done func() (bool, error)) error {
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-ticker.C:
		}
	}
}
