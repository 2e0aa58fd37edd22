package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/oncehook/oncehook/internal/devstack"
)

type devCommand struct {
	Data         string `default:".dev" placeholder:"DIR" help:"Where everything is kept between starts (default .dev)."`
	IngressAddr  string `default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Where the ingress listens; port 0 is a free one."`
	AdminAddr    string `default:"127.0.0.1:8081" placeholder:"HOST:PORT" help:"Where the admin API listens; port 0 is a free one."`
	TemporalPort int    `default:"7233" placeholder:"PORT" help:"Temporal's port; 0 is a free one."`
	UIPort       int    `name:"ui-port" default:"8233" placeholder:"PORT" help:"The Temporal UI's port; 0 is a free one."`
	ReceiverPort int    `default:"9090" placeholder:"PORT" help:"The port of the service that effects call, which shows what it got; 0 is a free one."`
	ReadyFile    string `placeholder:"FILE" help:"Write this JSON file when all is up."`
	NoInstall    bool   `help:"Never install or download PostgreSQL."`
	BuildOnly    bool   `help:"Only build bin/temporal-dev, if it is missing or stale."`
}

// Help is what --help says beside the flags.
func (*devCommand) Help() string {
	return `Everything is kept in the folder of --data: the databases, the secrets, what the receiver got (notices.jsonl), the
configuration (` + localConfig + `), and the log of oncehook itself (` + devLog + `), whose errors are shown here too.`
}

// stopBudget is less than the ten seconds in which everything is gone.
const stopBudget = 9 * time.Second

// Run runs everything until a signal ends it or a part of it fails for good.
func (c *devCommand) Run(ctx context.Context, p *program) error {
	say := &progress{w: p.stderr}
	if c.BuildOnly {
		root, err := devstack.FindRoot()
		if err != nil {
			return err
		}
		_, err = devstack.EnsureTemporalDev(ctx, root, say.line)
		return err
	}
	d := &dev{devCommand: *c, program: p, say: say}
	if err := d.check(); err != nil {
		return err
	}
	err := d.run(ctx)
	if ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)) {
		say.line("stopped")
		return nil
	}
	return err
}

// dev is one run of everything on this machine.
type dev struct {
	devCommand
	*program

	say *progress
	dir string // Data, absolute

	database *database
	temporal *temporal
	receiver *downstream
	system   *system
}

// check finds what can be found wrong before anything is started.
func (d *dev) check() error {
	var err error
	if d.dir, err = filepath.Abs(d.Data); err != nil {
		return err
	}
	d.IngressAddr, d.AdminAddr = address(d.IngressAddr), address(d.AdminAddr)
	if err := checkAddress(d.IngressAddr, "--ingress-addr"); err != nil {
		return err
	}
	if err := checkAddress(d.AdminAddr, "--admin-addr"); err != nil {
		return err
	}
	if d.IngressAddr == d.AdminAddr && !strings.HasSuffix(d.AdminAddr, ":0") {
		return usagef("--ingress-addr and --admin-addr are both %s", d.AdminAddr)
	}
	for name, port := range map[string]int{"--temporal-port": d.TemporalPort, "--ui-port": d.UIPort, "--receiver-port": d.ReceiverPort} {
		if port < 0 || port > 65535 {
			return usagef("%s %d is no port", name, port)
		}
	}
	if d.ReadyFile != "" {
		if d.ReadyFile, err = filepath.Abs(d.ReadyFile); err != nil {
			return err
		}
		if info, err := os.Stat(filepath.Dir(d.ReadyFile)); err != nil || !info.IsDir() {
			return usagef("--ready-file %s: there is no such folder", d.ReadyFile)
		}
	}
	return nil
}

// address lets a bare port stand for one of loopback.
func address(addr string) string {
	if _, err := strconv.ParseUint(addr, 10, 16); err == nil {
		return "127.0.0.1:" + addr
	}
	return addr
}

func checkAddress(addr, flag string) error {
	if _, port, err := net.SplitHostPort(addr); err != nil {
		return usagef("%s %s: must be HOST:PORT", flag, addr)
	} else if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return usagef("%s %s: the port must be a number", flag, addr)
	}
	return nil
}

func (d *dev) run(ctx context.Context) (failed error) {
	// The user postgres passes through it; secrets are in a folder of their own.
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return fmt.Errorf("make the data folder: %w", err)
	}
	unlock, err := devstack.LockFile(filepath.Join(d.dir, "lock"))
	if err != nil {
		return fmt.Errorf("%w: if another oncehook dev runs there, stop it, or choose another folder by --data", err)
	}
	defer unlock()
	if err := d.removeReadyFile(); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		cancel()
		failed = errors.Join(failed, d.removeReadyFile(), d.stop())
	}()
	return d.start(ctx)
}

// start brings everything up in the order in which it becomes useful, then
// watches over it until ctx ends.
func (d *dev) start(ctx context.Context) error {
	var err error
	if err := d.bindable(); err != nil {
		return err
	}
	if d.temporal, err = d.reserveTemporal(); err != nil {
		return err
	}
	if d.receiver, err = d.startReceiver(ctx); err != nil {
		return err
	}
	if d.database, err = d.startDatabase(ctx); err != nil {
		return err
	}
	if err := d.makeSecrets(); err != nil {
		return err
	}
	if err := d.addPayloadKey(); err != nil {
		return err
	}
	if d.system, err = d.startSystem(ctx); err != nil {
		return err
	}
	if err := d.linkCodec(ctx); err != nil {
		return err
	}
	if err := d.startTemporal(ctx); err != nil {
		return err
	}
	if err := d.system.startWork(ctx, d.say); err != nil {
		return err
	}
	if err := d.writeReadyFile(); err != nil {
		return err
	}
	d.welcome()
	return d.watch(ctx)
}

// bindable fails early, with the flag to use, when a listener's port is taken.
func (d *dev) bindable() error {
	for flag, addr := range map[string]string{"--ingress-addr": d.IngressAddr, "--admin-addr": d.AdminAddr} {
		l, err := net.Listen("tcp", addr)
		if err != nil {
			return fmt.Errorf("%s is taken by another program or is not an address of this machine: choose another by %s, port 0 for a free one: %w", addr, flag, cause(err))
		}
		if err := l.Close(); err != nil {
			return err
		}
	}
	return nil
}

// startTemporal starts it and says, if that takes long, what can be done meanwhile.
func (d *dev) startTemporal(ctx context.Context) error {
	started := make(chan error, 1)
	go func() { started <- d.temporal.start(ctx, d.say) }()
	const patience = 4 * time.Second
	select {
	case err := <-started:
		return err
	case <-time.After(patience):
		d.meanwhile()
		return <-started
	}
}

// watch restarts the servers that die and returns when ctx ends or when
// something cannot be helped.
func (d *dev) watch(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	failed := make(chan error, 4)
	var keepers sync.WaitGroup
	keepers.Go(func() { failed <- d.database.keep(ctx, d.say) })
	keepers.Go(func() { failed <- d.temporal.keep(ctx, d.say) })
	go func() { failed <- d.receiver.wait(ctx) }()
	go func() { failed <- d.system.wait() }()
	err := <-failed
	cancel()
	// What they were restarting must be known to stop.
	keepers.Wait()
	return err
}

// stop ends what was started: first what uses the servers, then these.
func (d *dev) stop() error {
	ctx, cancel := context.WithTimeout(context.Background(), stopBudget)
	defer cancel()
	done := d.say.step("stopping everything")
	defer done()
	var err error
	if d.system != nil {
		half, cancel := context.WithTimeout(ctx, stopBudget/2)
		err = d.system.stop(half)
		cancel()
	}
	ended := make(chan error, 3)
	go func() { ended <- d.receiver.stop(ctx) }()
	go func() { ended <- d.temporal.stop(ctx) }()
	go func() { ended <- d.database.stop(ctx) }()
	return errors.Join(err, <-ended, <-ended, <-ended)
}
