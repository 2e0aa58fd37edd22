package standardwebhooks_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/providertest"
)

func TestKnownAnswers(t *testing.T) {
	providertest.Vectors(t, os.DirFS("../../tests/testdata/vectors/standard-webhooks"), build, map[string]oncehook.Cause{
		"sw-body-reserialised":                  oncehook.CauseWrongSecret,
		"sw-dot-in-id-ambiguity":                oncehook.CauseCredentialMalformed,
		"sw-duplicate-signature-header-lines":   oncehook.CauseCredentialMalformed,
		"sw-id-changed":                         oncehook.CauseWrongSecret,
		"sw-missing-webhook-id":                 oncehook.CauseCredentialMissing,
		"sw-missing-webhook-timestamp":          oncehook.CauseCredentialMissing,
		"sw-signature-base64url":                oncehook.CauseCredentialMalformed,
		"sw-signature-comma-separated":          oncehook.CauseCredentialMalformed,
		"sw-signature-empty-value":              oncehook.CauseCredentialMalformed,
		"sw-signature-truncated":                oncehook.CauseCredentialMalformed,
		"sw-ts-301-future":                      oncehook.CauseTimestampNew,
		"sw-ts-not-a-number":                    oncehook.CauseTimestampMalformed,
		"sw-ts-rfc3339":                         oncehook.CauseTimestampMalformed,
		"sw-ts-trailing-junk":                   oncehook.CauseTimestampMalformed,
		"sw-v1a-confusion-hmac-with-public-key": oncehook.CauseSchemeUnsupported,
		"sw-v1a-only-symmetric-secret":          oncehook.CauseSchemeUnsupported,
		"sw-v1a-wrong-timestamp":                oncehook.CauseWrongSecret,
		"sw-v2-only":                            oncehook.CauseSchemeUnsupported,
		"sw-wrong-secret":                       oncehook.CauseWrongSecret,
	})
}
