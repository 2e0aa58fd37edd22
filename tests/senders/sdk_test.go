package senders_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// leastNode is the oldest major version that the SDKs run on; Debian 12 has it.
const leastNode = 18

const howToInstall = "these tests run the providers' own SDKs and need node 18 or newer with npm: on Debian and Ubuntu apt-get install nodejs npm"

// sdks returns the folder in which the SDKs are installed: one per lock file and
// script, in the user's cache, so that only the first run needs the registry.
var sdks = sync.OnceValues(func() (string, error) { //nolint:gochecknoglobals // one installation per test binary
	files := []string{"package.json", "package-lock.json", "sender.mjs"}
	hash := sha256.New()
	contents := map[string][]byte{}
	for _, name := range files {
		content, err := os.ReadFile(name)
		if err != nil {
			return "", err
		}
		contents[name] = content
		hash.Write(content)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	cache = filepath.Join(cache, "oncehook-tests")
	folder := filepath.Join(cache, "senders-"+hex.EncodeToString(hash.Sum(nil))[:16])
	if _, err := os.Stat(folder); err == nil {
		return folder, nil
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return "", err
	}
	// Made beside its place and moved there whole, so that no other run sees half of it.
	made, err := os.MkdirTemp(cache, "making-")
	if err != nil {
		return "", err
	}
	defer func() { _ = os.RemoveAll(made) }()
	for name, content := range contents {
		if err := os.WriteFile(filepath.Join(made, name), content, 0o644); err != nil {
			return "", err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	install := exec.CommandContext(ctx, "npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund")
	install.Dir = made
	if output, err := install.CombinedOutput(); err != nil {
		return "", &installError{err, string(output)}
	}
	if err := os.Rename(made, folder); err != nil {
		if _, there := os.Stat(folder); there != nil {
			return "", err
		}
	}
	return folder, nil
})

type installError struct {
	err    error
	output string
}

func (e *installError) Error() string { return "npm ci: " + e.err.Error() + "\n" + e.output }

// node requires node and npm: without them the test fails, since it would prove nothing.
func node(t *testing.T) string {
	t.Helper()
	version, err := exec.CommandContext(t.Context(), "node", "--version").Output()
	require.NoError(t, err, howToInstall)
	major, _, _ := strings.Cut(strings.TrimPrefix(string(version), "v"), ".")
	number, err := strconv.Atoi(major)
	require.NoError(t, err, "node --version printed %q", version)
	require.GreaterOrEqual(t, number, leastNode, "node is %s: %s", bytes.TrimSpace(version), howToInstall)
	_, err = exec.LookPath("npm")
	require.NoError(t, err, howToInstall)
	folder, err := sdks()
	require.NoError(t, err)
	return folder
}

// command is what sender.mjs does.
type command struct {
	Do     string `json:"do"`
	Kind   string `json:"kind"`
	Secret string `json:"secret"`
	URL    string `json:"url,omitempty"`
	ID     string `json:"id,omitempty"`
	Event  string `json:"event,omitempty"`
	Body   string `json:"body"`
	// Sent replaces the body after it was signed.
	Sent        string            `json:"sent,omitempty"`
	ContentType string            `json:"contentType,omitempty"`
	Timestamp   int64             `json:"timestamp,omitempty"`
	Headers     map[string]string `json:"headers,omitempty"`
}

// came is what came of it.
type came struct {
	Verified bool
	Status   int
	Body     string
	Result   struct {
		// Status is a decision, or a number in a problem document.
		Status   any
		Code     string
		EventKey string `json:"event_key"`
	} `json:"-"`
}

// run carries out the commands one after the other, in one process.
func run(t *testing.T, commands ...command) []came {
	t.Helper()
	folder := node(t)
	input, err := json.Marshal(commands)
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	script := exec.CommandContext(ctx, "node", "sender.mjs")
	script.Dir = folder
	script.Stdin = bytes.NewReader(input)
	var stderr bytes.Buffer
	script.Stderr = &stderr
	output, err := script.Output()
	require.NoError(t, err, stderr.String())
	var results []came
	require.NoError(t, json.Unmarshal(output, &results))
	require.Len(t, results, len(commands))
	for n := range results {
		if !results[n].Verified {
			require.NoError(t, json.Unmarshal([]byte(results[n].Body), &results[n].Result), results[n].Body)
		}
	}
	return results
}
