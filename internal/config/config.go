// Package config reads oncehook.yaml: strictly, with every problem named by file
// and line, and with secrets taken by reference only.
package config

import (
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/oncehook/oncehook"
)

// Roles of a process towards the database.
const (
	RoleIngress = "ingress"
	RoleWork    = "work"
	RoleAdmin   = "admin"
	RoleMigrate = "migrate"
)

// Config is a whole configuration: loaded, defaulted, checked, with its secrets resolved.
type Config struct {
	// File is the path that was loaded.
	File      string
	Version   int
	Database  Database
	Temporal  Temporal
	Keys      Keys
	Ingress   Ingress
	Admin     Admin
	Work      Work
	Egress    Egress
	Telemetry Telemetry
	Log       Log
	Retention Retention
	// Destinations are the places that effects call, by name.
	Destinations map[string]Destination
	// Sources are sorted by name.
	Sources []Source

	references map[string]reference
	lines      map[string]int
}

// Database holds one DSN for all roles, or one per role.
type Database struct {
	URL     oncehook.Secret
	Ingress oncehook.Secret
	Work    oncehook.Secret
	Admin   oncehook.Secret
	Migrate oncehook.Secret
}

// Temporal says where the Temporal service is. The SDK's own environment
// variables (TEMPORAL_*) win over all of it.
type Temporal struct {
	// ConfigFile is an absolute path, or "".
	ConfigFile string
	Profile    string
	Address    string
	Namespace  string
	UIURL      string
	// Codec encrypts what Temporal keeps of a run, where the keyset has a payload key.
	Codec bool
}

// Keys holds the installation's keys.
type Keys struct {
	Identity oncehook.Secret
	Keyset   oncehook.Secret
}

// Ingress configures the endpoint that receives webhooks.
type Ingress struct {
	Addr string
	// PublicURL is how senders see the endpoint, without a trailing slash, or "".
	PublicURL string
	// TrustedProxies are the peers whose X-Forwarded-For is believed.
	TrustedProxies []netip.Prefix
	// Drain is how long a stopping ingress goes on serving while /readyz already
	// fails, so that balancers notice and no sender is refused.
	Drain time.Duration
}

// Admin configures the admin API and, for the CLI, how to reach it.
type Admin struct {
	Addr  string
	URL   string
	Token oncehook.Secret
}

// Work configures workers.
type Work struct {
	// Local runs Local effects as local activities.
	Local      bool
	LocalSlots int
}

// Source is one configured endpoint.
type Source struct {
	Name          string
	Provider      string
	Principals    []oncehook.Principal
	Types         []string
	Fields        oncehook.Fields
	DefaultTenant string
	PersonalIDs   bool
	Limits        Limits
	Retention     string
	Owner         string
	SLO           string
	Reviewed      string
}

// Limits bounds what a source may send.
type Limits struct {
	// Body is the largest body, in bytes.
	Body int64
	// Rate is new events per second and tenant; 0 means no limit.
	Rate float64
	// Burst is how many new events may come at once.
	Burst int
}

// Defaults of what a file leaves out.
const (
	DefaultIngressAddr = "127.0.0.1:8080"
	DefaultAdminAddr   = "127.0.0.1:8081"
	DefaultProfile     = "default"
	DefaultRetention   = "standard"
	DefaultBody        = 1 << 20
	DefaultLocalSlots  = 2
)

// AllTypes in a source's types recognizes every event type.
const AllTypes = "*"

// Load reads, completes and checks the file at path. Environment variables come
// through environ, which has os.LookupEnv's contract. An error is a *LoadError
// that holds every problem found; no error holds a secret.
func Load(path string, environ func(string) (string, bool)) (*Config, error) {
	return load(path, &reader{environ: environ})
}

func load(path string, r *reader) (*Config, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, &LoadError{Problems: []Problem{{File: path, Message: "cannot be read: " + cause(err)}}}
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, &LoadError{Problems: []Problem{{File: path, Message: "has no absolute folder: " + cause(err)}}}
	}
	r.file, r.dir = path, dir
	r.references, r.lines, r.variables = map[string]reference{}, map[string]int{}, map[string]string{}
	root := r.parse(data)
	if len(r.problems) > 0 {
		return nil, &LoadError{Problems: r.problems}
	}
	c := r.config(root)
	if len(r.problems) > 0 {
		return nil, &LoadError{Problems: r.problems}
	}
	return c, nil
}

// Source returns the source of that name.
func (c *Config) Source(name string) (Source, bool) {
	for _, s := range c.Sources {
		if s.Name == name {
			return s, true
		}
	}
	return Source{}, false
}

// DatabaseURL returns the DSN of a role: its own, else the common one, else nothing.
func (c *Config) DatabaseURL(role string) oncehook.Secret {
	own := map[string]oncehook.Secret{
		RoleIngress: c.Database.Ingress,
		RoleWork:    c.Database.Work,
		RoleAdmin:   c.Database.Admin,
		RoleMigrate: c.Database.Migrate,
	}[role]
	if len(own) > 0 {
		return own
	}
	return c.Database.URL
}

// RequireDatabase returns an error that says what to write when a role has no DSN.
func (c *Config) RequireDatabase(role string) error {
	if len(c.DatabaseURL(role)) > 0 {
		return nil
	}
	return &LoadError{Problems: []Problem{{
		File: c.File, Path: "database." + role,
		Message: "is missing: set database.url or database." + role + " to {file: PATH} or {env: NAME}, or set " + oncehook.EnvDatabaseURL,
	}}}
}

// RequireKeys returns an error that says what to write when the keys are missing.
func (c *Config) RequireKeys() error {
	var problems []Problem
	for path, secret := range map[string]oncehook.Secret{"keys.identity": c.Keys.Identity, "keys.keyset": c.Keys.Keyset} {
		if len(secret) == 0 {
			problems = append(problems, Problem{File: c.File, Path: path, Message: "is missing: set it to {file: PATH} or {env: NAME}" + maker(path)})
		}
	}
	if len(problems) == 0 {
		return nil
	}
	sortProblems(problems)
	return &LoadError{Problems: problems}
}

// credentialExpiry is how a credential's end is written.
const credentialExpiry = time.RFC3339
