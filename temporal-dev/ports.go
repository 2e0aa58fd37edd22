package main

import (
	"errors"
	"fmt"
	"net"
	"strconv"
	"syscall"
)

// ports are the TCP ports of one running server.
type ports struct {
	Frontend, History, Matching, Worker int
	// UI is 0 when headless.
	UI int
}

// reservation holds every port of the server open until release, so that two ports
// chosen as free are never the same and a taken one is found before anything starts.
// The server opens its listeners itself, hence the short gap after release.
type reservation struct {
	ports     ports
	listeners []net.Listener
}

// reservePorts opens the ports asked for and picks free ones for the rest. A port that
// somebody else listens on is an error that names the flag.
func reservePorts(o options) (_ *reservation, err error) {
	r := &reservation{}
	defer func() {
		if err != nil {
			r.release()
		}
	}()
	if r.ports.Frontend, err = r.listen(o.IP, o.Port, "--port"); err != nil {
		return nil, err
	}
	if !o.Headless {
		uiPort := o.UIPort
		if uiPort < 0 {
			uiPort = defaultUIPort(r.ports.Frontend)
		}
		if r.ports.UI, err = r.listen(o.IP, uiPort, "--ui-port"); err != nil {
			return nil, err
		}
	}
	for _, port := range []*int{&r.ports.History, &r.ports.Matching, &r.ports.Worker} {
		if *port, err = r.listen(o.IP, 0, ""); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// defaultUIPort is the CLI's rule, port + 1000, or a free port where that is no port.
func defaultUIPort(frontend int) int {
	if frontend+1000 > 65535 {
		return 0
	}
	return frontend + 1000
}

func (r *reservation) listen(ip string, port int, flagName string) (int, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(ip, strconv.Itoa(port)))
	if errors.Is(err, syscall.EADDRINUSE) {
		return 0, fmt.Errorf("port %d on %s is already taken; choose another with %s", port, ip, flagName)
	}
	if err != nil {
		return 0, fmt.Errorf("open port: %w", err)
	}
	r.listeners = append(r.listeners, listener)
	return listener.Addr().(*net.TCPAddr).Port, nil
}

func (r *reservation) release() {
	for _, listener := range r.listeners {
		_ = listener.Close()
	}
	r.listeners = nil
}
