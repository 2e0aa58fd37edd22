// Package egress makes the one HTTP client through which effects reach other
// systems. It calls public addresses by TLS, and private ones only where they are
// listed; what a name resolves to is checked, not the name. It imports the root
// package, the standard library and code.dny.dev/ssrf.
package egress

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"

	"code.dny.dev/ssrf"

	"github.com/oncehook/oncehook"
)

// Target is a private network that may be called, on one port or on every one.
type Target struct {
	Prefix netip.Prefix
	// Port is 0 for every port.
	Port uint16
}

// Config says what may be called.
type Config struct {
	// Allow are the private targets that may be called.
	Allow []Target
	// Ports are those that may be called at public addresses, beside 443.
	Ports []uint16
}

// Bounds of a call. Its attempt's own time bounds it too.
const (
	callTime    = 30 * time.Second
	connectTime = 5 * time.Second
	tlsTime     = 5 * time.Second
	headerTime  = 20 * time.Second
	idleTime    = 30 * time.Second
	// MaxBody bounds a response's body, maxHeader its header, in bytes.
	MaxBody   = 1 << 20
	maxHeader = 64 << 10
	// maxConns bounds the connections to one host.
	maxConns = 32
	// maxRedirects within one host.
	maxRedirects = 3
)

// NewClient makes the client. It takes no proxy from the environment, and what it
// refuses is a permanent error: no retry makes a target allowed.
func NewClient(c Config) *http.Client {
	return &http.Client{Transport: bounded{newTransport(c)}, CheckRedirect: checkRedirect, Timeout: callTime}
}

func newTransport(c Config) *http.Transport {
	guard := newGuard(c)
	public := &net.Dialer{Timeout: connectTime, Control: guard.public}
	listed := &net.Dialer{Timeout: connectTime, Control: guard.listed}
	return &http.Transport{
		Proxy: nil,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			if ctx.Value(plainKey{}) != nil {
				return listed.DialContext(ctx, network, address)
			}
			return public.DialContext(ctx, network, address)
		},
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    tlsTime,
		ResponseHeaderTimeout:  headerTime,
		MaxResponseHeaderBytes: maxHeader,
		ExpectContinueTimeout:  time.Second,
		IdleConnTimeout:        idleTime,
		MaxIdleConnsPerHost:    4,
		MaxConnsPerHost:        maxConns,
		DisableCompression:     true, // a small body that unpacks to a large one
	}
}

// plainKey marks the context of a request without TLS.
type plainKey struct{}

type guard struct {
	allow []Target
	ssrf  *ssrf.Guardian
}

// azureWire answers with credentials at a public address.
var azureWire = netip.MustParsePrefix("168.63.129.16/32") //nolint:gochecknoglobals // constant

func newGuard(c Config) *guard {
	return &guard{allow: c.Allow, ssrf: ssrf.New(ssrf.WithPorts(append([]uint16{443}, c.Ports...)...), ssrf.WithDeniedV4Prefixes(azureWire))}
}

// public lets a call with TLS through, to a public address or a listed target.
func (g *guard) public(network, address string, conn syscall.RawConn) error {
	if g.isListed(address) {
		return nil
	}
	err := g.ssrf.Safe(network, address, conn)
	switch {
	case errors.Is(err, ssrf.ErrProhibitedPort):
		return oncehook.Permanent(fmt.Errorf("calls to %s are refused: its port is in no destination's url", address))
	case err != nil:
		return oncehook.Permanent(fmt.Errorf("calls to %s are refused: egress.allow does not list it", address))
	}
	return nil
}

// listed lets a call without TLS through, to a listed target only.
func (g *guard) listed(_, address string, _ syscall.RawConn) error {
	if g.isListed(address) {
		return nil
	}
	return oncehook.Permanent(fmt.Errorf("calls to %s without TLS are refused: egress.allow does not list it", address))
}

func (g *guard) isListed(address string) bool {
	target, err := netip.ParseAddrPort(address)
	if err != nil || target.Addr().Zone() != "" {
		return false
	}
	for _, t := range g.allow {
		if t.Prefix.Contains(target.Addr().Unmap()) && (t.Port == 0 || t.Port == target.Port()) {
			return true
		}
	}
	return false
}

// checkRedirect follows a downstream within itself only: another host would get
// the event and perhaps the credential, and another method does another thing.
func checkRedirect(request *http.Request, via []*http.Request) error {
	first := via[0]
	switch {
	case request.URL.Scheme != first.URL.Scheme || request.URL.Host != first.URL.Host:
		return oncehook.Permanent(errors.New("the downstream redirects to another host: write the final url into the configuration"))
	case request.Method != first.Method:
		return oncehook.Permanent(errors.New("the downstream answers with a redirect that would change the method"))
	case len(via) > maxRedirects:
		return oncehook.Permanent(fmt.Errorf("the downstream redirects more than %d times", maxRedirects))
	}
	return nil
}
