// Command temporal-dev is a Temporal server with its web UI in one process, for a
// laptop and for tests.
//
// It takes the words and flags of the Temporal CLI's development server that it
// supports, so the SDK's test starter can drive it and the CLI can stand in for it.
// It imports nothing of the oncehook module and nothing imports it: they meet at
// host and port only.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"

	"go.temporal.io/server/common/headers"
)

// sourceHash identifies the sources this binary was built from. The build stamps it
// with -ldflags "-X main.sourceHash=...".
var sourceHash = "unstamped"

const usage = `temporal-dev is a Temporal server with its web UI, for development.

  temporal-dev server start-dev [flags]   run the server until SIGINT or SIGTERM
  temporal-dev version                    print the server version and the source hash

Flags of server start-dev:
`

func main() {
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run executes the command line and returns the exit status: 0 after a clean stop,
// 1 after any error, which is written to stderr as one line.
func run(args []string, stdout, stderr io.Writer) int {
	err := command(args, stdout)
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "temporal-dev:", err)
	return 1
}

func command(args []string, stdout io.Writer) error {
	switch {
	case len(args) == 1 && args[0] == "version":
		_, err := fmt.Fprintf(stdout, "server %s\nsources %s\n", headers.ServerVersion, sourceHash)
		return err
	case len(args) == 1 && (args[0] == "help" || args[0] == "--help" || args[0] == "-h"):
		return printUsage(stdout)
	case len(args) >= 2 && args[0] == "server" && args[1] == "start-dev":
		opts, err := parseOptions(args[2:])
		if errors.Is(err, flag.ErrHelp) {
			return printUsage(stdout)
		}
		if err != nil {
			return err
		}
		return serve(opts, stdout)
	default:
		return errors.New(`expected "server start-dev [flags]" or "version"; see temporal-dev help`)
	}
}

func printUsage(w io.Writer) error {
	if _, err := io.WriteString(w, usage); err != nil {
		return err
	}
	var opts options
	flags := opts.flagSet()
	flags.SetOutput(w)
	flags.PrintDefaults()
	return nil
}
