package app

import (
	"os"

	"github.com/oncehook/oncehook/internal/config"
)

// Settings is a loaded configuration.
type Settings = config.Config

// LoadSettings reads an oncehook.yaml with this process's environment. Its error
// names every problem by file and line, and holds no secret.
func LoadSettings(path string) (*Settings, error) { return config.Load(path, os.LookupEnv) }
