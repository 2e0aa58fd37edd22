package config_test

import (
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/config"
)

const outside = full + `egress: {allow: ["127.0.0.1:9090", "10.1.2.3/8", "[::1]:80"]}
destinations:
  customer-notice: {url: "https://notices.example.test/v1", token: {file: secrets/other}}
  ledger: {url: "http://ledger.internal:8080"}
`

func TestDestinationsAreReadAsWritten(t *testing.T) {
	path := folder(t, outside)
	environ := env("ADMIN_TOKEN", admin)
	c, err := config.Load(path, environ)
	require.NoError(t, err)
	require.Equal(t, []config.EgressTarget{
		{Prefix: netip.MustParsePrefix("127.0.0.1/32"), Port: 9090}, {Prefix: netip.MustParsePrefix("10.0.0.0/8")}, {Prefix: netip.MustParsePrefix("::1/128"), Port: 80},
	}, c.Egress.Allow)
	require.Equal(t, "https://notices.example.test/v1", c.Destinations["customer-notice"].URL)
	require.Equal(t, "another-token-another-token", string(c.Destinations["customer-notice"].Token))
	require.Empty(t, c.Destinations["ledger"].Token)

	shown := c.Redacted()
	require.NotContains(t, string(shown), "another-token")
	require.Contains(t, string(shown), "127.0.0.1:9090")
	again := filepath.Join(t.TempDir(), "again.yaml")
	require.NoError(t, os.WriteFile(again, shown, 0o600))
	c2, err := config.Load(again, environ)
	require.NoError(t, err, string(shown))
	require.Equal(t, c.Egress, c2.Egress)
	require.Equal(t, c.Destinations, c2.Destinations)
}

func TestTheEnvironmentSetsADestination(t *testing.T) {
	c, err := load(t, outside, "ONCEHOOK_DESTINATIONS_CUSTOMER_NOTICE_TOKEN", "from-the-environment", "ONCEHOOK_DESTINATIONS_LEDGER_URL", "https://l.example.test")
	require.NoError(t, err)
	require.Equal(t, "from-the-environment", string(c.Destinations["customer-notice"].Token))
	require.Equal(t, "https://l.example.test", c.Destinations["ledger"].URL)
}

func TestEveryMistakeAboutDestinationsNamesItsLine(t *testing.T) {
	for name, c := range map[string]struct {
		edit edit
		want string
	}{
		"a name for an address":  {edit{`"127.0.0.1:9090"`, `"localhost:9090"`}, ":21: egress.allow[0] must be host:port of a literal address"},
		"an address alone":       {edit{`"127.0.0.1:9090"`, `"127.0.0.1"`}, ":21: egress.allow[0] must be"},
		"port zero":              {edit{`"127.0.0.1:9090"`, `"127.0.0.1:0"`}, ":21: egress.allow[0] must be"},
		"a bad network":          {edit{"10.1.2.3/8", "10.1.2.3/88"}, ":21: egress.allow[1] must be"},
		"a zone":                 {edit{"[::1]:80", "[fe80::1%eth0]:80"}, ":21: egress.allow[2] must be"},
		"unknown key":            {edit{"egress: {allow", "egress: {allowed"}, ":21: egress.allowed is not a known key"},
		"unknown key below":      {edit{`ledger: {url`, `ledger: {uri`}, ":24: destinations.ledger.uri is not a known key"},
		"no URL":                 {edit{`{url: "http://ledger.internal:8080"}`, `{}`}, ":24: destinations.ledger.url is missing"},
		"another scheme":         {edit{"http://ledger", "ftp://ledger"}, ":24: destinations.ledger.url must be an http or https URL"},
		"a user in the URL":      {edit{"http://ledger", "http://me:hunter2secret@ledger"}, "must be an http or https URL without user"},
		"a query in the URL":     {edit{"internal:8080", "internal:8080/?key=hunter2secret"}, "without user, query and fragment"},
		"a secret itself":        {edit{"{file: secrets/other}", "another-token-another-token"}, ":23: destinations.customer-notice.token holds the secret itself"},
		"white space in a token": {edit{"secrets/other", "secrets/spaced"}, "begins or ends with white space"},
		"a sender's secret":      {edit{"secrets/other", "secrets/logistics"}, "destinations.customer-notice.token holds the same secret as sources.logistics.principals[0].credentials[0].secret"},
		"a slash in the name":    {edit{"ledger: {url", "a/b: {url"}, "destinations.a/b cannot"},
	} {
		t.Run(name, func(t *testing.T) {
			require.Contains(t, outside, c.edit.from)
			_, err := load(t, strings.Replace(outside, c.edit.from, c.edit.to, 1))
			require.ErrorContains(t, err, c.want)
			for _, secret := range []string{"hunter2secret", logistics, "another-token", "spaced-token"} {
				require.NotContains(t, err.Error(), secret)
			}
		})
	}
}
