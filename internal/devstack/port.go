package devstack

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

const loopback = "127.0.0.1"

// FreePort returns a TCP port of 127.0.0.1 on which nothing listened a moment ago. Another program can take it before
// the caller does, so a caller that can must be ready to try again.
func FreePort() (int, error) {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, "0"))
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// checkPort returns an error that says what to do when something already listens on the port.
func checkPort(port int, what string) error {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	switch {
	case errors.Is(err, syscall.EADDRINUSE):
		return fmt.Errorf("port %d of %s is taken by another program: choose another for %s, or 0 for a free one", port, loopback, what)
	case err != nil:
		return fmt.Errorf("port %d for %s: %w", port, what, err)
	}
	return l.Close()
}
