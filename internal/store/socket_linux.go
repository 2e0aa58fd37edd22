package store

import (
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// setUserTimeout makes the kernel give up on a peer that acknowledges nothing.
// Without it a write to a vanished server waits for minutes.
func setUserTimeout(network, _ string, raw syscall.RawConn) error {
	if !strings.HasPrefix(network, "tcp") {
		return nil
	}
	var failed error
	err := raw.Control(func(fd uintptr) {
		failed = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(tcpUserTimeout.Milliseconds()))
	})
	if err != nil {
		return err
	}
	return failed
}
