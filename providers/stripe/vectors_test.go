package stripe_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/providertest"
)

func TestKnownAnswers(t *testing.T) {
	providertest.Vectors(t, os.DirFS("../../tests/testdata/vectors/stripe"), build, map[string]oncehook.Cause{
		"stripe-body-reserialised":            oncehook.CauseWrongSecret,
		"stripe-empty-header":                 oncehook.CauseCredentialMissing,
		"stripe-secret-base64-decoded":        oncehook.CauseWrongSecret,
		"stripe-secret-with-trailing-newline": providertest.StartupRefusal,
		"stripe-space-after-comma":            oncehook.CauseSchemeUnsupported,
		"stripe-t-not-number":                 oncehook.CauseTimestampMalformed,
		"stripe-ts-301-old":                   oncehook.CauseTimestampOld,
		"stripe-ts-3600-future":               oncehook.CauseTimestampNew,
		"stripe-v0-only":                      oncehook.CauseSchemeUnsupported,
	})
}
