// Command oncehook runs the roles of oncehook and is the operators' way in.
//
// It exits with 0 when what was asked for is done, 1 when it failed, and 2 when
// the question itself was wrong or fits more than one thing.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
)

// Exit codes.
const (
	exitFailure = 1
	exitUsage   = 2
)

// commands is the command line: one field, and one file, per verb.
type commands struct {
	Config string `short:"c" env:"ONCEHOOK_CONFIG" placeholder:"FILE" help:"The configuration. Defaults to oncehook.yaml, else to .dev/oncehook.yaml, which dev writes."`

	Dev      devCommand      `cmd:"" help:"Run everything on this machine: PostgreSQL, Temporal, all roles."`
	Serve    serveCommand    `cmd:"" help:"Run the ingress and the admin API."`
	Work     workCommand     `cmd:"" help:"Run the dispatcher and the worker."`
	Migrate  migrateCommand  `cmd:"" help:"Bring the database's schema up to date, or say where it stands."`
	Show     configCommand   `cmd:"" name:"config" help:"Print the effective configuration, without secrets."`
	Send     sendCommand     `cmd:"" help:"Send an event to the ingress as its provider would."`
	Events   eventsCommand   `cmd:"" help:"List and show events."`
	Trace    traceCommand    `cmd:"" help:"Show the whole chain of an event."`
	Rejected rejectedCommand `cmd:"" help:"List and show authentic deliveries that were no event."`
	Refusals refusalsCommand `cmd:"" help:"Count the refusals of which nothing else is kept, such as 401."`
	History  historyCommand  `cmd:"" help:"Check and decrypt what Temporal keeps of runs."`
	Keys     keysCommand     `cmd:"" help:"Make and rotate the installation's keys."`
	Sources  sourcesCommand  `cmd:"" help:"Print what the sender of a source that dev made proves itself with."`
	Doctor   doctorCommand   `cmd:"" help:"Examine the installation: what keeps it from working, and what to do; exit 1 on a blocker."`
	Version  versionCommand  `cmd:"" help:"Print the version."`
}

func main() {
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run executes a command line and returns the exit code.
func run(args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends the process at once.
	context.AfterFunc(ctx, stop)

	var c commands
	p := &program{stdin: stdin, stdout: stdout, stderr: stderr, environ: os.LookupEnv}
	parser, err := kong.New(&c, kong.Name("oncehook"),
		kong.Description("One authenticated event, one committed effect, and the evidence for it."),
		kong.Writers(stdout, stderr), kong.UsageOnError(), kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		helpVariables(), kong.BindTo(ctx, (*context.Context)(nil)), kong.Bind(p))
	if err != nil {
		fmt.Fprintln(stderr, "oncehook:", err)
		return exitFailure
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	parsed, err := parser.Parse(args)
	if err != nil {
		fmt.Fprintln(stderr, "oncehook:", misread(err))
		return exitUsage
	}
	p.configFile = c.Config
	err = parsed.Run()
	if err == nil {
		return 0
	}
	fmt.Fprintln(stderr, "oncehook:", err)
	if _, ok := errors.AsType[*usageError](err); ok {
		return exitUsage
	}
	return exitFailure
}

// usageError says that the question was wrong, or fits more than one thing.
type usageError struct{ message string }

func (e *usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return &usageError{fmt.Sprintf(format, args...)} }
