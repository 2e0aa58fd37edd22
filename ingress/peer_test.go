package ingress_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook"
)

func TestForwardedAddressesAreBelievedFromTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		trusted   []string
		forwarded []string
		want      string
	}{
		"nobody is trusted":       {nil, []string{"203.0.113.9"}, "127.0.0.1"},
		"another is trusted":      {[]string{"10.0.0.0/8"}, []string{"203.0.113.9"}, "127.0.0.1"},
		"the peer is trusted":     {[]string{"127.0.0.0/8"}, []string{"203.0.113.9"}, "203.0.113.9"},
		"no header":               {[]string{"127.0.0.0/8"}, nil, "127.0.0.1"},
		"the sender's own is not": {[]string{"127.0.0.0/8"}, []string{"198.51.100.1, 203.0.113.9"}, "203.0.113.9"},
		"two proxies":             {[]string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"203.0.113.9, 10.1.1.1"}, "203.0.113.9"},
		"two headers":             {[]string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"203.0.113.9", "10.1.1.1"}, "203.0.113.9"},
		"all are proxies":         {[]string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"10.2.2.2, 10.1.1.1"}, "10.2.2.2"},
		"nonsense ends it":        {[]string{"127.0.0.0/8", "10.0.0.0/8"}, []string{"203.0.113.9, \xff<script>, 10.1.1.1"}, "10.1.1.1"},
		"empty":                   {[]string{"127.0.0.0/8"}, []string{""}, "127.0.0.1"},
		"with a port":             {[]string{"127.0.0.0/8"}, []string{"[2001:db8::1]:4711"}, "2001:db8::1"},
		"mapped":                  {[]string{"127.0.0.0/8"}, []string{"::ffff:203.0.113.9"}, "203.0.113.9"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := start(t, func(s *setup) { s.TrustedProxies = prefixes(c.trusted...) })
			a := s.acceptedAs(s.post("logistics", event("e1"), header("X-Forwarded-For", c.forwarded...)), oncehook.Accepted)
			var peer string
			require.NoError(t, s.db.QueryRow(t.Context(), `SELECT peer FROM oncehook.audit WHERE receipt_id = $1`, a.text("receipt_id")).Scan(&peer))
			require.Equal(t, c.want, peer)
		})
	}
}
