package github_test

import (
	"os"
	"testing"

	"github.com/oncehook/oncehook"
	"github.com/oncehook/oncehook/providers/providertest"
)

func TestKnownAnswers(t *testing.T) {
	providertest.Vectors(t, os.DirFS("../../tests/testdata/vectors/github"), build, map[string]oncehook.Cause{
		"github-missing-prefix":          oncehook.CauseCredentialMalformed,
		"github-missing-signature":       oncehook.CauseCredentialMissing,
		"github-sha1-only":               oncehook.CauseSchemeUnsupported,
		"github-sha256-wrong-sha1-right": oncehook.CauseWrongSecret,
		"github-trailing-newline-lost":   oncehook.CauseWrongSecret,
		"github-upper-hex":               oncehook.CauseCredentialMalformed,
	})
}
