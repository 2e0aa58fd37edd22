package devstack

import (
	"bufio"
	"errors"
	"os"
	"path/filepath"
	"strings"
)

const modulePath = "github.com/oncehook/oncehook"

// FindRoot returns the checkout of oncehook that holds the working folder or, failing that, the running program. An
// installed binary far from its sources has none.
func FindRoot() (string, error) {
	var from []string
	if wd, err := os.Getwd(); err == nil {
		from = append(from, wd)
	}
	if exe, err := os.Executable(); err == nil {
		if resolved, err := filepath.EvalSymlinks(exe); err == nil {
			exe = resolved
		}
		from = append(from, filepath.Dir(exe))
	}
	for _, dir := range from {
		if root, ok := rootAbove(dir); ok {
			return root, nil
		}
	}
	return "", errors.New("not in a checkout of oncehook: run this in one, or set TEMPORAL_ADDRESS to use a Temporal server that runs already")
}

// rootAbove walks up to the folder whose go.mod is oncehook's own.
func rootAbove(dir string) (string, bool) {
	for {
		if moduleAt(dir) == modulePath {
			return dir, true
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", false
		}
		dir = parent
	}
}

// moduleAt reads the module path from a folder's go.mod; empty when there is none.
func moduleAt(dir string) string {
	f, err := os.Open(filepath.Join(dir, "go.mod"))
	if err != nil {
		return ""
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if path, ok := strings.CutPrefix(strings.TrimSpace(lines.Text()), "module "); ok {
			return strings.Trim(strings.TrimSpace(path), `"`)
		}
	}
	return ""
}
