package main_test

import (
	"net"
	"os/exec"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestVersionNamesServerAndSources(t *testing.T) {
	out, err := exec.Command(binary, "version").Output()
	require.NoError(t, err)
	require.Equal(t, "server 1.32.1\nsources f00d\n", string(out))
}

func TestHelpListsTheFlags(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"server", "start-dev", "--help"}} {
		out, err := exec.Command(binary, args...).Output()
		require.NoError(t, err, args)
		for _, flag := range []string{
			"-ip", "-port", "-ui-port", "-namespace", "-db-filename", "-headless", "-ui-codec-endpoint",
			"-log-level", "-log-format", "-dynamic-config-value", "-search-attribute",
		} {
			require.Contains(t, string(out), flag, args)
		}
	}
}

func TestBadCommandLinesAreRefusedInOneLine(t *testing.T) {
	for _, test := range []struct {
		name string
		args []string
		says string
	}{
		{"no words", nil, "expected"},
		{"other words", []string{"workflow", "list"}, "expected"},
		{"unknown flag", []string{"server", "start-dev", "--metrics-port", "1"}, "metrics-port"},
		{"stray argument", []string{"server", "start-dev", "now"}, `unexpected argument "now"`},
		{"all interfaces", []string{"server", "start-dev", "--ip", "0.0.0.0"}, "loopback"},
		{"all IPv6 interfaces", []string{"server", "start-dev", "--ip=::"}, "loopback"},
		{"private address", []string{"server", "start-dev", "--ip", "192.168.1.10"}, "loopback"},
		{"host name", []string{"server", "start-dev", "--ip", "example.com"}, "loopback"},
		{"port out of range", []string{"server", "start-dev", "--port", "70000"}, "--port 70000"},
		{"UI port out of range", []string{"server", "start-dev", "--ui-port", "-7"}, "--ui-port -7"},
		{"codec endpoint without a scheme", []string{"server", "start-dev", "--ui-codec-endpoint", "127.0.0.1:8081"}, "--ui-codec-endpoint"},
		{"log level", []string{"server", "start-dev", "--log-level", "loud"}, "--log-level loud"},
		{"log format", []string{"server", "start-dev", "--log-format", "xml"}, "--log-format xml"},
		{"empty namespace", []string{"server", "start-dev", "--namespace", ""}, "namespace"},
		{"search attribute without type", []string{"server", "start-dev", "--search-attribute", "Foo"}, "Name=Type"},
		{"search attribute of unknown type", []string{"server", "start-dev", "--search-attribute", "Foo=Blob"}, "Blob"},
		{"search attribute of no type", []string{"server", "start-dev", "--search-attribute", "Foo=Unspecified"}, "Unspecified"},
		{"dynamic config without value", []string{"server", "start-dev", "--dynamic-config-value", "a.b"}, "KEY=JSON"},
		{"dynamic config without JSON", []string{"server", "start-dev", "--dynamic-config-value", "a.b=c"}, "JSON"},
		{"dynamic config with two values", []string{"server", "start-dev", "--dynamic-config-value", "a.b=1 2"}, "JSON"},
	} {
		t.Run(test.name, func(t *testing.T) {
			require.Contains(t, refused(t, test.args...), test.says)
		})
	}
}

func TestTakenPortIsRefusedBeforeAnythingStarts(t *testing.T) {
	holder, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = holder.Close() }()
	taken := strconv.Itoa(holder.Addr().(*net.TCPAddr).Port)
	for _, flag := range []string{"--port", "--ui-port"} {
		args := []string{"server", "start-dev", "--port", "0", "--db-filename", t.TempDir() + "/a.db", flag, taken}
		message := refused(t, args...)
		require.Contains(t, message, "port "+taken+" on 127.0.0.1 is already taken")
		require.Contains(t, message, flag)
		require.NoFileExists(t, args[5])
	}
}
