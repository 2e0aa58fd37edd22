package ingress

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"github.com/labstack/echo/v4"
)

// peerOf returns the sender's address: the direct peer, or, when that is a
// trusted proxy, the nearest forwarded address that is none.
func (s *server) peerOf(r *http.Request) netip.Addr {
	peer := parseAddr(r.RemoteAddr)
	if !s.trusts(peer) {
		return peer
	}
	hops := strings.Split(strings.Join(r.Header.Values(echo.HeaderXForwardedFor), ","), ",")
	for _, hop := range slices.Backward(hops) {
		addr := parseAddr(strings.TrimSpace(hop))
		if !addr.IsValid() {
			break
		}
		peer = addr
		if !s.trusts(addr) {
			break
		}
	}
	return peer
}

func (s *server) trusts(addr netip.Addr) bool {
	return slices.ContainsFunc(s.TrustedProxies, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// parseAddr reads an address with or without a port; the zero Addr is none.
func parseAddr(text string) netip.Addr {
	if addr, err := netip.ParseAddr(text); err == nil {
		return addr.Unmap().WithZone("")
	}
	if pair, err := netip.ParseAddrPort(text); err == nil {
		return pair.Addr().Unmap().WithZone("")
	}
	return netip.Addr{}
}

// publicURL is the request's URL as its sender sees it, which some signatures cover.
func (s *server) publicURL(r *http.Request) string {
	base := s.PublicURL
	if base == "" {
		scheme := "http"
		if r.TLS != nil || s.trusts(parseAddr(r.RemoteAddr)) && r.Header.Get(echo.HeaderXForwardedProto) == "https" {
			scheme = "https"
		}
		base = scheme + "://" + r.Host
	}
	url := base + r.URL.EscapedPath()
	if r.URL.RawQuery != "" || r.URL.ForceQuery {
		url += "?" + r.URL.RawQuery
	}
	return url
}
