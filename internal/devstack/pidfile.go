package devstack

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"time"
)

// pidFile names a child so that a later process can tell it from another one that got the same pid.
type pidFile struct {
	PID   int    `json:"pid"`
	Start string `json:"start"` // startToken of the pid
}

func writePIDFile(path string, pid int) error {
	start, err := startToken(pid)
	if err != nil {
		return fmt.Errorf("identify process %d: %w", pid, err)
	}
	raw, err := json.Marshal(pidFile{PID: pid, Start: start})
	if err != nil {
		return err
	}
	return os.WriteFile(path, append(raw, '\n'), 0o600)
}

// orphanIn returns the pid of the running process that a pid file names, 0 when there is none: no file, an unreadable
// one, a process that is gone, or a pid that now belongs to another process.
func orphanIn(path string) (int, error) {
	raw, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	var f pidFile
	if json.Unmarshal(raw, &f) == nil && f.PID > 1 && alive(f.PID) && f.named() {
		return f.PID, nil
	}
	return 0, nil
}

// named reports whether the pid still belongs to the process the file was written for.
func (f pidFile) named() bool {
	start, err := startToken(f.PID)
	return err == nil && start == f.Start
}

// stopOrphan ends a process that is not our child, by the signals in turn.
func stopOrphan(ctx context.Context, pid int, steps ...stopStep) error {
	for _, step := range steps {
		if err := syscall.Kill(pid, step.signal); err != nil && !errors.Is(err, syscall.ESRCH) {
			return fmt.Errorf("stop process %d of an earlier run: %w", pid, err)
		}
		waitCtx, cancel := context.WithTimeout(ctx, step.grace)
		err := poll(waitCtx, 20*time.Millisecond, func() (bool, error) { return !alive(pid), nil })
		cancel()
		if err == nil || ctx.Err() != nil {
			return ctx.Err()
		}
	}
	return fmt.Errorf("process %d of an earlier run does not stop: stop it by hand (kill -9 %d)", pid, pid)
}
