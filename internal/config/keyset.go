package config

// KeysetReference says where keys.keyset comes from: a file, by absolute path, or
// an environment variable. The other one is "".
func (c *Config) KeysetReference() (file, env string) {
	ref := c.references["keys.keyset"]
	return ref.File, ref.Env
}
