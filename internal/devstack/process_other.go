//go:build unix && !linux

package devstack

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
)

// setParentDeathSignal does nothing: only Linux has such a signal. Pid files serve instead.
func setParentDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}

// ps asks the process table for one column of one process.
func ps(pid int, column string) (string, error) {
	out, err := exec.Command("ps", "-ww", "-o", column+"=", "-p", strconv.Itoa(pid)).Output()
	if err != nil {
		return "", fmt.Errorf("process %d: %w", pid, err)
	}
	return strings.TrimSpace(string(out)), nil
}

// alive reports whether pid is a process that still runs. One that only waits to be reaped does not.
func alive(pid int) bool {
	state, err := ps(pid, "stat")
	return err == nil && state != "" && !strings.HasPrefix(state, "Z")
}

// startToken identifies the process that has the pid now.
func startToken(pid int) (string, error) {
	return ps(pid, "lstart")
}

// childrenOf lists the direct children of pid.
func childrenOf(pid int) ([]int, error) {
	out, err := exec.Command("ps", "-A", "-o", "pid=,ppid=").Output()
	if err != nil {
		return nil, fmt.Errorf("list processes: %w", err)
	}
	var children []int
	for line := range strings.Lines(string(out)) {
		var child, parent int
		if _, err := fmt.Sscan(line, &child, &parent); err == nil && parent == pid {
			children = append(children, child)
		}
	}
	return children, nil
}

// isPostmaster reports whether pid is the PostgreSQL server of the data folder, by its command line.
func isPostmaster(pid int, dataDir string) bool {
	command, err := ps(pid, "command")
	return err == nil && strings.Contains(command, "postgres") && strings.Contains(command, dataDir)
}
