package main

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/oncehook/oncehook"
)

// The sources that dev has.
const (
	devLogistics = "logistics"
	devAcme      = "acme"
	devStripe    = "stripe"
	devGitHub    = "github"
)

// devSource is one source of dev's configuration.
type devSource struct {
	name, provider string
	// file holds its secret. It never holds one of another form: an older start may
	// have left its own.
	file string
	// secret makes one in the provider's own form of 32 random bytes.
	secret func(random []byte) string
	// more is what the source's section has beside the usual.
	more string
}

func devSources() []devSource {
	return []devSource{
		{
			name: devLogistics, provider: "bearer", file: devLogistics,
			secret: func(random []byte) string { return "dev-" + devLogistics + "-" + hex.EncodeToString(random) },
			more: `    types: [shipment.depot_arrival]
    fields: {required: [shipment_id, depot_id], subject: shipment_id}
`,
		},
		{
			name: devAcme, provider: "standard-webhooks", file: "acme-whsec",
			secret: func(random []byte) string { return "whsec_" + base64.StdEncoding.EncodeToString(random) },
			more:   anyTypeForDev,
		},
		{
			name: devStripe, provider: "stripe", file: "stripe-whsec",
			secret: func(random []byte) string { return "whsec_" + hex.EncodeToString(random) },
			more:   anyTypeForDev,
		},
		{
			name: devGitHub, provider: "github", file: "github-secret",
			secret: hex.EncodeToString,
			more:   anyTypeForDev,
		},
	}
}

// anyTypeForDev takes every type, and gives an event that names no tenant to dev.
const anyTypeForDev = `    types: ["*"]
    default_tenant: dev
`

// section is the source's part of the configuration.
func (s devSource) section() string {
	tenants := `["*"]`
	if s.name == devLogistics {
		tenants = "[logistics-sandbox, logistics-north]"
	}
	return fmt.Sprintf(`  %s:
    provider: %s
    principals:
      - name: %s-sender
        tenants: %s
        credentials: [{version: "1", secret: {file: secrets/%s}}]
%s    limits: {body: 1MiB, rate: 1000, burst: 10000}
    retention: standard
`, s.name, s.provider, s.name, tenants, s.file, s.more)
}

func devSections() string {
	var all strings.Builder
	for _, s := range devSources() {
		all.WriteString(s.section())
	}
	return all.String()
}

// newSecret makes a secret of the source's form.
func (s devSource) newSecret() (oncehook.Secret, error) {
	random := make([]byte, 32)
	if _, err := rand.Read(random); err != nil {
		return nil, fmt.Errorf("make the secret of %s: %w", s.name, err)
	}
	return oncehook.Secret(s.secret(random)), nil
}
