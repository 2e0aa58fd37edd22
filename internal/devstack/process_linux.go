package devstack

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
)

// setParentDeathSignal asks the kernel to send s to the child when the thread that starts it ends.
func setParentDeathSignal(attr *syscall.SysProcAttr, s syscall.Signal) {
	attr.Pdeathsig = s
}

// processStat is what /proc/PID/stat says of a process.
type processStat struct {
	state  string
	parent int
	start  string // clock ticks since boot
}

func readStat(pid int) (processStat, error) {
	raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return processStat{}, err
	}
	// The second field is the program's name in parentheses and may hold anything, parentheses too.
	fields := strings.Fields(string(raw[bytes.LastIndexByte(raw, ')')+1:]))
	if len(fields) < 20 {
		return processStat{}, fmt.Errorf("process %d: unreadable stat", pid)
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return processStat{}, fmt.Errorf("process %d: unreadable stat: %w", pid, err)
	}
	return processStat{state: fields[0], parent: parent, start: fields[19]}, nil
}

// alive reports whether pid is a process that still runs. One that only waits to be reaped does not.
func alive(pid int) bool {
	stat, err := readStat(pid)
	return err == nil && stat.state != "Z" && stat.state != "X"
}

// startToken identifies the process that has the pid now: two processes that get the same pid, before or after a
// reboot, have different tokens.
func startToken(pid int) (string, error) {
	stat, err := readStat(pid)
	if err != nil {
		return "", err
	}
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return "", err
	}
	return strings.TrimSpace(string(boot)) + "/" + stat.start, nil
}

// childrenOf lists the direct children of pid.
func childrenOf(pid int) ([]int, error) {
	entries, err := filepath.Glob("/proc/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	var children []int
	for _, entry := range entries {
		child, err := strconv.Atoi(filepath.Base(filepath.Dir(entry)))
		if err != nil {
			continue
		}
		if stat, err := readStat(child); err == nil && stat.parent == pid {
			children = append(children, child)
		}
	}
	return children, nil
}

// isPostmaster reports whether pid is the PostgreSQL server of the data folder: its program is named postgres and it
// works in that folder, as a postmaster does.
func isPostmaster(pid int, dataDir string) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	if err != nil {
		return false
	}
	cwd, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", pid))
	if err != nil {
		return false
	}
	// A program replaced by an upgrade shows as "… (deleted)".
	name := strings.TrimSuffix(filepath.Base(exe), " (deleted)")
	return name == "postgres" && cwd == dataDir
}
