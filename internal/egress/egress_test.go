package egress

import (
	"crypto/tls"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

// downstream is a server on a loopback address that counts its requests.
func downstream(t *testing.T, handler http.HandlerFunc) (server *httptest.Server, target Target) {
	t.Helper()
	server = httptest.NewServer(handler)
	t.Cleanup(server.Close)
	address := netip.MustParseAddrPort(server.Listener.Addr().String())
	return server, Target{Prefix: netip.PrefixFrom(address.Addr(), address.Addr().BitLen()), Port: address.Port()}
}

func ok(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "hello") }

// refused sends a request and returns why it was refused for good.
func refused(t *testing.T, client *http.Client, target string) string {
	t.Helper()
	response, err := client.Post(target, "text/plain", strings.NewReader("x"))
	if err == nil {
		_ = response.Body.Close()
	}
	require.Error(t, err)
	outcome, is := oncehook.AsOutcome(err)
	require.True(t, is, err)
	require.Equal(t, oncehook.OutcomePermanent, outcome.Kind)
	return outcome.Reason
}

func TestOnlyListedPrivateTargetsAreCalled(t *testing.T) {
	t.Parallel()
	server, target := downstream(t, ok)
	other, _ := downstream(t, ok)
	client := NewClient(Config{Allow: []Target{target}})
	response, err := client.Get(server.URL)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())

	require.Contains(t, refused(t, client, other.URL), "egress.allow does not list it", "another port")
	byName := strings.Replace(other.URL, "127.0.0.1", "localhost", 1)
	require.Contains(t, refused(t, client, byName), "egress.allow does not list it", "what a name resolves to counts")
}

func TestSpecialAddressesAreRefusedUnlessListed(t *testing.T) {
	t.Parallel()
	g := newGuard(Config{Ports: []uint16{8443}})
	for address, allowed := range map[string]bool{
		"93.184.216.34:443": true, "93.184.216.34:8443": true, "[2606:2800:220:1:248:1893:25c8:1946]:443": true,
		"93.184.216.34:22": false, "93.184.216.34:80": false,
		"127.0.0.1:443": false, "[::1]:443": false, "[::ffff:127.0.0.1]:443": false, "0.0.0.0:443": false, "[::]:443": false,
		"10.1.2.3:443": false, "172.16.0.1:443": false, "192.168.1.1:443": false, "100.64.0.1:443": false,
		"169.254.169.254:443": false, "[fe80::1]:443": false, "[fe80::1%eth0]:443": false, "[fd00:ec2::254]:443": false,
		"168.63.129.16:443": false, "224.0.0.1:443": false, "[ff02::1]:443": false, "255.255.255.255:443": false,
		"[64:ff9b::7f00:1]:443": false, "[2002:7f00:1::]:443": false, "nonsense": false,
	} {
		network := "tcp4"
		if strings.HasPrefix(address, "[") {
			network = "tcp6"
		}
		require.Equal(t, allowed, g.public(network, address, nil) == nil, address)
		require.Error(t, g.listed(network, address, nil), "without TLS nothing public is called: %s", address)
	}
	g = newGuard(Config{Allow: []Target{{Prefix: netip.MustParsePrefix("10.0.0.0/8")}, {Prefix: netip.MustParsePrefix("127.0.0.1/32"), Port: 9090}}})
	for address, allowed := range map[string]bool{
		"10.1.2.3:443": true, "10.1.2.3:8080": true, "[::ffff:10.1.2.3]:8080": true, "127.0.0.1:9090": true,
		"127.0.0.1:9091": false, "127.0.0.2:9090": false, "192.168.1.1:443": false, "169.254.169.254:80": false,
	} {
		require.Equal(t, allowed, g.public("tcp4", address, nil) == nil, address)
		require.Equal(t, allowed, g.listed("tcp4", address, nil) == nil, address)
	}
}

func TestARedirectStaysAtItsHostAndMethod(t *testing.T) {
	t.Parallel()
	var told []string
	elsewhere, elsewhereTarget := downstream(t, func(_ http.ResponseWriter, r *http.Request) { told = append(told, r.Header.Get("Authorization")) })
	server, target := downstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, elsewhere.URL+"/?secret=1", http.StatusTemporaryRedirect)
		case "/metadata":
			http.Redirect(w, r, "http://169.254.169.254/latest", http.StatusTemporaryRedirect)
		case "/changes":
			http.Redirect(w, r, "/here", http.StatusSeeOther)
		case "/loops":
			http.Redirect(w, r, "/loops", http.StatusTemporaryRedirect)
		case "/moved":
			http.Redirect(w, r, "/here", http.StatusPermanentRedirect)
		case "/here":
			_, _ = io.WriteString(w, r.Method)
		}
	})
	client := NewClient(Config{Allow: []Target{target, elsewhereTarget}})
	for path, reason := range map[string]string{
		"/away": "another host", "/metadata": "another host", "/changes": "change the method", "/loops": "more than 3 times",
	} {
		require.Contains(t, refused(t, client, server.URL+path), reason)
	}
	require.Empty(t, told)
	response, err := client.Post(server.URL+"/moved", "text/plain", strings.NewReader("x"))
	require.NoError(t, err)
	defer response.Body.Close()
	method, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, "POST", string(method))
}

func TestAnAnswerIsBounded(t *testing.T) {
	t.Parallel()
	server, target := downstream(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/most":
			_, _ = w.Write(make([]byte, MaxBody))
		case "/more":
			_, _ = w.Write(make([]byte, MaxBody+1))
		case "/header":
			w.Header().Set("X", strings.Repeat("x", 2*maxHeader))
		}
	})
	client := NewClient(Config{Allow: []Target{target}})
	read := func(path string) (int, error) {
		response, err := client.Get(server.URL + path)
		if err != nil {
			return 0, err
		}
		defer response.Body.Close()
		body, err := io.ReadAll(response.Body)
		return len(body), err
	}
	n, err := read("/most")
	require.NoError(t, err)
	require.Equal(t, MaxBody, n)
	n, err = read("/more")
	require.ErrorIs(t, err, ErrBody)
	require.Equal(t, MaxBody, n)
	_, err = read("/header")
	require.Error(t, err)
}

func TestOldTLSIsRefused(t *testing.T) {
	t.Parallel()
	for version, accepted := range map[uint16]bool{tls.VersionTLS11: false, tls.VersionTLS12: true} {
		server := httptest.NewUnstartedServer(http.HandlerFunc(ok))
		server.TLS = &tls.Config{MaxVersion: version, MinVersion: tls.VersionTLS10}
		server.Config.ErrorLog = nil
		server.StartTLS()
		t.Cleanup(server.Close)
		transport := newTransport(Config{Allow: []Target{{Prefix: netip.MustParsePrefix("127.0.0.1/32")}}})
		transport.TLSClientConfig.RootCAs = server.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
		response, err := (&http.Client{Transport: bounded{transport}}).Get(server.URL)
		if accepted {
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
		} else {
			require.Error(t, err)
		}
	}
}

func TestNoProxyIsTakenFromTheEnvironment(t *testing.T) {
	var proxied bool
	proxy, _ := downstream(t, func(http.ResponseWriter, *http.Request) { proxied = true })
	t.Setenv("HTTP_PROXY", proxy.URL)
	t.Setenv("HTTPS_PROXY", proxy.URL)
	require.Nil(t, newTransport(Config{}).Proxy)
	_, err := NewClient(Config{}).Get("http://198.51.100.1/")
	require.Error(t, err)
	require.False(t, proxied)
}

func TestTheErrorOfANameWithoutAnAddressIsNoVerdict(t *testing.T) {
	t.Parallel()
	_, err := NewClient(Config{}).Get("https://nowhere.invalid/")
	require.Error(t, err)
	_, outcome := oncehook.AsOutcome(err)
	require.False(t, outcome, "the name may resolve later")
}
