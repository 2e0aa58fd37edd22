package config

// SecretFiles returns the files that secrets were read from, as absolute paths, by
// the dotted path of the setting that refers to each.
func (c *Config) SecretFiles() map[string]string {
	files := map[string]string{}
	for path, ref := range c.references {
		if ref.File != "" {
			files[path] = ref.File
		}
	}
	return files
}
