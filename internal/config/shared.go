package config

import (
	"crypto/sha256"
)

// holder is where a secret is in use.
type holder struct{ source, principal, path string }

// checkSecrets refuses a secret that would prove more than one identity: two
// principals, two credential versions at one source, or a sender and the admin.
func (r *reader) checkSecrets(c *Config) {
	seen := map[[sha256.Size]byte][]holder{}
	if len(c.Admin.Token) > 0 {
		sum := sha256.Sum256(c.Admin.Token)
		seen[sum] = []holder{{path: "admin.token"}}
	}
	for _, s := range c.Sources {
		for p, principal := range s.Principals {
			for n, credential := range principal.Credentials {
				if len(credential.Secret) == 0 {
					continue
				}
				sum := sha256.Sum256(credential.Secret)
				mine := holder{s.Name, principal.Name, credentialPath(s.Name, p, n)}
				for _, other := range seen[sum] {
					if other.source == mine.source || other.principal != mine.principal {
						r.problem(r.lines[mine.path], mine.path, "holds the same secret as %s: give each its own", other.path)
						break
					}
				}
				seen[sum] = append(seen[sum], mine)
			}
		}
	}
}
