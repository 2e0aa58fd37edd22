package doctor

import (
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/oncehook/oncehook/internal/config"
)

// Modes that let others than the owner and its group do something.
const (
	othersMay   fs.FileMode = 0o007
	othersWrite fs.FileMode = 0o022
)

// Secrets examines who else can read the secrets, and that each proves one thing.
func Secrets(c *config.Config) Check {
	return Check{"secrets", func(_ context.Context, r *Report) {
		if len(c.Admin.Token) == 0 {
			r.Warn("set admin.token, then oncehook keys admin-token and oncehook migrate up", "admin.token is not set: the command line has no way in, and migrate makes no first admin")
		}
		files := c.SecretFiles()
		paths := slices.Sorted(maps.Keys(files))
		open := 0
		for _, path := range paths {
			if who := whoElse(files[path], othersMay|othersWrite); who != "" {
				open++
				r.Warn("chmod 0600, and replace the secret if others had a look", "%s: its file %s %s", path, files[path], who)
			}
		}
		if who := whoElse(c.File, othersWrite); who != "" {
			open++
			r.Warn("chmod 0644 at most", "the configuration %s %s: it says whose secrets are believed", c.File, who)
		}
		shared := sharedSecrets(c)
		for _, words := range shared {
			r.Warn("give each its own, so that one leak is one sender's", "%s are the same secret", words)
		}
		if open == 0 && len(shared) == 0 {
			r.OK("%d files of secrets are closed to others, and no two sources share a secret", len(files))
		}
	}}
}

// whoElse says who else may do what with a file, or "". A file that is gone was read
// when the configuration was loaded: a start would find that.
func whoElse(path string, forbidden fs.FileMode) string {
	info, err := os.Stat(path)
	if err != nil {
		return "is gone"
	}
	mode := info.Mode().Perm()
	switch {
	case mode&forbidden == 0:
		return ""
	case mode&0o002 != 0:
		return fmt.Sprintf("can be written by everybody (mode %04o)", mode)
	case mode&forbidden&0o004 != 0:
		return fmt.Sprintf("can be read by everybody (mode %04o)", mode)
	case mode&0o020 != 0:
		return fmt.Sprintf("can be written by its group (mode %04o)", mode)
	default:
		return fmt.Sprintf("is open to others (mode %04o)", mode)
	}
}

// sharedSecrets names the places that share a secret. The loader refuses a secret of
// two principals; one principal may have it at several sources.
func sharedSecrets(c *config.Config) []string {
	places := map[[sha256.Size]byte][]string{}
	for _, s := range c.Sources {
		for _, p := range s.Principals {
			for _, credential := range p.Credentials {
				sum := sha256.Sum256(credential.Secret)
				places[sum] = append(places[sum], fmt.Sprintf("credential %s of %s at source %s", credential.Version, p.Name, s.Name))
			}
		}
	}
	var shared []string
	for _, where := range places {
		if len(where) > 1 {
			shared = append(shared, strings.Join(where, " and "))
		}
	}
	slices.Sort(shared)
	return shared
}
