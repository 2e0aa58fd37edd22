package main

import (
	"fmt"
	"runtime"
)

// version is stamped by the build: -ldflags "-X main.version=...".
var version = "development"

type versionCommand struct{}

// Run prints the version of oncehook and of Go.
func (c *versionCommand) Run(p *program) error {
	_, err := fmt.Fprintf(p.stdout, "oncehook %s (%s %s/%s)\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
