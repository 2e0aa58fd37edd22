package config_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/oncehook/oncehook/internal/config"
)

func TestRetentionHasDefaultsThatOutliveEveryProvider(t *testing.T) {
	c, err := loadText(t, "version: 1\n", nil)
	require.NoError(t, err)
	day := 24 * time.Hour
	require.Equal(t, config.Retention{
		Payloads: map[string]time.Duration{"short": 7 * day, "standard": 30 * day, "long": 400 * day},
		Keys:     400 * day, Audit: 800 * day, Actions: 800 * day, Outbox: 7 * day,
	}, c.Retention)
	c, err = loadText(t, "version: 1\nretention: {payloads: {short: 1d}, keys: 500d, outbox: 2d}\n", nil)
	require.NoError(t, err)
	require.Equal(t, []time.Duration{day, 30 * day, 500 * day, 2 * day},
		[]time.Duration{c.Retention.Payloads["short"], c.Retention.Payloads["standard"], c.Retention.Keys, c.Retention.Outbox})
}

func TestRetentionThatWouldLetAnEventActTwiceIsRefused(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"keys end before a provider may send again": {"keys: 30d", "retention.keys must be 45d at least: a provider can send an event again"},
		"the ledger ends before the keys":           {"actions: 100d", "retention.actions is 100d, but keys are kept 400d"},
		"a body outlives its receipt":               {"payloads: {long: 500d}", "retention.payloads.long is 500d, but keys are kept 400d"},
		"hours are no days":                         {"audit: 24h", "retention.audit must be a number of whole days, such as 30d"},
		"zero keeps nothing":                        {"payloads: {short: 0d}", "retention.payloads.short must be 1d at least"},
		"an unknown class":                          {"payloads: {eternal: 1d}", "retention.payloads.eternal is not a known key"},
		"more than a life":                          {"audit: 65535d", "whole days"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := loadText(t, "version: 1\nretention: {"+c.text+"}\n", nil)
			require.ErrorContains(t, err, c.says)
		})
	}
}
