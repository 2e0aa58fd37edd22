package devstack

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const temporalDev = "temporal-dev"

// SourceHash identifies the sources of temporal-dev in a checkout: the names and contents of its Go files, go.mod and
// go.sum. Tests are not part of the program, so they do not count.
func SourceHash(root string) (string, error) {
	module := filepath.Join(root, temporalDev)
	var files []string
	err := filepath.WalkDir(module, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() {
			if name == "testdata" {
				return filepath.SkipDir
			}
			return nil
		}
		source := strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go")
		if source || name == "go.mod" || name == "go.sum" {
			files = append(files, path)
		}
		return nil
	})
	if err != nil {
		return "", fmt.Errorf("sources of %s: %w", temporalDev, err)
	}
	slices.Sort(files)
	hash := sha256.New()
	for _, path := range files {
		content, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("sources of %s: %w", temporalDev, err)
		}
		name, err := filepath.Rel(module, path)
		if err != nil {
			return "", err
		}
		// Lengths keep a name and the content after it apart.
		fmt.Fprintf(hash, "%d %s %d ", len(name), filepath.ToSlash(name), len(content))
		hash.Write(content)
	}
	return hex.EncodeToString(hash.Sum(nil))[:32], nil
}

// TemporalVersion says what a temporal-dev binary is: the version of the Temporal server in it, and the SourceHash it
// was built from.
func TemporalVersion(ctx context.Context, binary string) (server, sources string, err error) {
	out, err := exec.CommandContext(ctx, binary, "version").Output()
	if err != nil {
		return "", "", fmt.Errorf("%s version: %w", binary, err)
	}
	for line := range strings.Lines(string(out)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		switch name {
		case "server":
			server = value
		case "sources":
			sources = value
		}
	}
	if server == "" || sources == "" {
		return "", "", fmt.Errorf("%s version: unexpected output", binary)
	}
	return server, sources, nil
}

// EnsureTemporalDev returns the path of bin/temporal-dev in the checkout, built from the sources that are there now: it
// builds when the binary is missing or was made from others. Parallel callers build once.
func EnsureTemporalDev(ctx context.Context, root string, progress func(string)) (string, error) {
	if progress == nil {
		progress = func(string) {}
	}
	binary := filepath.Join(root, "bin", temporalDev)
	sources, err := SourceHash(root)
	if err != nil {
		return "", err
	}
	if isBuiltFrom(ctx, binary, sources) {
		return binary, nil
	}
	if err := os.MkdirAll(filepath.Dir(binary), 0o755); err != nil {
		return "", err
	}
	lock, err := waitLock(ctx, binary+".lock", func() { progress("waiting for another process to build " + temporalDev) })
	if err != nil {
		return "", fmt.Errorf("build %s: %w", temporalDev, err)
	}
	defer lock.release()
	if isBuiltFrom(ctx, binary, sources) {
		return binary, nil
	}
	return binary, buildTemporalDev(ctx, root, binary, sources, progress)
}

func isBuiltFrom(ctx context.Context, binary, sources string) bool {
	_, built, err := TemporalVersion(ctx, binary)
	return err == nil && built == sources
}

// buildTemporalDev builds beside the binary and renames, so that a server that runs from the old one is not disturbed
// and a build that breaks off leaves nothing. The caller holds the lock.
func buildTemporalDev(ctx context.Context, root, binary, sources string, progress func(string)) error {
	compiler, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("%s must be built and there is no go in PATH: install Go, or set TEMPORAL_ADDRESS to use a Temporal server that runs already", temporalDev)
	}
	defer announce(progress, "building "+temporalDev+" (the first build takes about five minutes)")()
	partial := binary + ".partial"
	cmd := exec.CommandContext(ctx, compiler, "build", "-C", filepath.Join(root, temporalDev), "-buildvcs=false",
		"-ldflags", "-s -w -X main.sourceHash="+sources, "-o", partial, ".")
	// A workspace would give the two modules one list of versions, with which the server does not compile.
	cmd.Env = append(os.Environ(), "GOWORK=off")
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	// The compilers that go starts end with it.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 5 * time.Second
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return fmt.Errorf("build %s: %w", temporalDev, ctx.Err())
		}
		return fmt.Errorf("build %s: %w: %s: see go build -C %s", temporalDev, err, lastLine(output.Bytes()), filepath.Join(root, temporalDev))
	}
	if !isBuiltFrom(ctx, partial, sources) {
		return errors.Join(fmt.Errorf("build %s: the binary does not name its sources", temporalDev), os.Remove(partial))
	}
	return os.Rename(partial, binary)
}
