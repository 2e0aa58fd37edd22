package harness

import (
	"context"
	"io"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/stretchr/testify/require"
)

// ServeWith starts a `serve` process with more in its environment.
func (s *System) ServeWith(env ...string) *Process {
	s.T.Helper()
	return start(s.T, roleServe, s.ConfigFile, env...)
}

// WorkWith starts a `work` process with more in its environment.
func (s *System) WorkWith(env ...string) *Process {
	s.T.Helper()
	return start(s.T, roleWork, s.ConfigFile, env...)
}

// WorkUnready starts a `work` process that nothing lets become ready.
func (s *System) WorkUnready(env ...string) *Process {
	s.T.Helper()
	p, _ := launch(s.T, roleWork, s.ConfigFile, env...)
	return p
}

// OnlyIngress and OnlyAdmin restrict a process of ServeWith to one listener.
const (
	OnlyIngress = envOnly + "=ingress"
	OnlyAdmin   = envOnly + "=admin"
)

// WithOperations makes a process answer operators at a free port.
const WithOperations = "ONCEHOOK_TELEMETRY_ADDR=127.0.0.1:0"

var operationsLine = regexp.MustCompile(`"operations listens","url":"([^"]+)"`)

// OperationsURL is where the process answers operators, once it says so.
func (p *Process) OperationsURL() string {
	p.t.Helper()
	url := ""
	require.Eventually(p.t, func() bool {
		if found := operationsLine.FindStringSubmatch(p.Log()); found != nil {
			url = found[1]
		}
		return url != ""
	}, startTimeout, 20*time.Millisecond, "no operations listener")
	return url
}

// Get asks for a URL and returns the answer's status and body; 0 for no answer.
func Get(url string, header ...string) (int, string) {
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, http.NoBody)
	if err != nil {
		return 0, err.Error()
	}
	for _, h := range header {
		name, value, _ := strings.Cut(h, ": ")
		request.Header.Set(name, value)
	}
	response, err := sender.Do(request)
	if err != nil {
		return 0, err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err.Error()
	}
	return response.StatusCode, string(text)
}
