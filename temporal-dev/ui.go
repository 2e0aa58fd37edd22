package main

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"time"

	uiserver "github.com/temporalio/ui-server/v2/server"
	uiconfig "github.com/temporalio/ui-server/v2/server/config"
	uioptions "github.com/temporalio/ui-server/v2/server/server_options"
)

// newUI makes Temporal's web UI, with its own assets only.
func newUI(ip string, p ports, codecEndpoint string) *uiserver.Server {
	return uiserver.NewServer(uioptions.WithConfigProvider(&uiconfig.Config{
		Host:                bracketed(ip),
		Port:                p.UI,
		TemporalGRPCAddress: address(ip, p.Frontend),
		EnableUI:            true,
		// The UI is served over plain HTTP on loopback.
		CORS:             uiconfig.CORS{CookieInsecure: true},
		DefaultNamespace: defaultNamespace,
		Codec:            uiconfig.Codec{Endpoint: codecEndpoint},
		DisableNewsFetch: true,
		HideLogs:         true,
	}))
}

// waitForUI returns once the UI answers.
func waitForUI(ctx context.Context, url string) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	client := &http.Client{Timeout: 5 * time.Second}
	return poll(ctx, func() error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/healthz", nil)
		if err != nil {
			return permanentError{err}
		}
		response, err := client.Do(request)
		if err != nil {
			return err
		}
		_ = response.Body.Close()
		if response.StatusCode != http.StatusOK {
			return fmt.Errorf("web UI answered %s", response.Status)
		}
		return nil
	})
}

// bracketed writes an IPv6 address as a host in an address needs it.
func bracketed(ip string) string {
	if strings.Contains(ip, ":") {
		return "[" + ip + "]"
	}
	return ip
}
