package config

// The secrets that `oncehook keys` makes.
const (
	PathIdentity   = "keys.identity"
	PathKeyset     = "keys.keyset"
	PathAdminToken = "admin.token"
)

// maker says how a new installation comes to a secret that is missing, or "".
func maker(path string) string {
	switch path {
	case PathIdentity, PathKeyset:
		return "; `oncehook keys new` makes it for a new installation"
	case PathAdminToken:
		return "; `oncehook keys admin-token` makes one"
	default:
		return ""
	}
}

// LoadUnmade is Load for who makes secrets: a reference to a file or variable that
// does not exist is no problem, and the secret is empty then. Reference says where
// it belongs.
func LoadUnmade(path string, environ func(string) (string, bool)) (*Config, error) {
	return load(path, &reader{environ: environ, unmade: true})
}

// Reference says where the secret of a setting comes from: a file, by absolute
// path, or an environment variable. Both are "" where nothing is configured.
func (c *Config) Reference(path string) (file, env string) {
	ref := c.references[path]
	return ref.File, ref.Env
}

// RequireReference returns an error that says what to write when a setting refers
// to nothing.
func (c *Config) RequireReference(path string) error {
	if c.references[path] != (reference{}) {
		return nil
	}
	return &LoadError{Problems: []Problem{{File: c.File, Path: path, Message: "is missing: set it to {file: PATH} or {env: NAME}"}}}
}

// KeysetReference is Reference for keys.keyset.
func (c *Config) KeysetReference() (file, env string) { return c.Reference(PathKeyset) }

// Variable returns the environment variable that sets the setting of a path.
func Variable(path string) string { return variable(path) }
