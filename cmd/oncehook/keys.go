package main

import (
	"context"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/oncehook/oncehook/app"
	"github.com/oncehook/oncehook/internal/config"
	"github.com/oncehook/oncehook/internal/keyring"
)

// keysCommand rotates keys so that processes with the keyset from before and
// after each step work together: add, restart; promote, restart; reencrypt; retire.
type keysCommand struct {
	New       keysNewCommand        `cmd:"" help:"Make the keys of a new installation, where the configuration refers to them."`
	Token     keysAdminTokenCommand `cmd:"" name:"admin-token" help:"Make the first admin's token, where admin.token refers to."`
	List      keysListCommand       `cmd:"" help:"List the keys, and what needs them."`
	Add       keysAddCommand        `cmd:"" help:"Step 1: make a key that opens and does not seal yet. Then restart every process."`
	Promote   keysPromoteCommand    `cmd:"" help:"Step 2: use the key for what is new. Then restart every process."`
	Reencrypt keysReencryptCommand  `cmd:"" help:"Wrap the tenants' data keys by the primary wrap key. May be broken off and run again."`
	Retire    keysRetireCommand     `cmd:"" help:"Remove a key that nothing needs any more."`
}

// kindArgument is which kind of key a verb is about.
type kindArgument struct {
	Kind keyring.Kind `arg:"" enum:"wrap,fingerprint,payload" help:"wrap (tenants' data keys), fingerprint (recognizing copies) or payload (Temporal's histories)."`
}

func (p *program) openKeys(ctx context.Context) (*app.Keys, error) {
	a, err := p.open(config.RoleMigrate)
	if err != nil {
		return nil, err
	}
	return a.OpenKeys(ctx)
}

type keysListCommand struct {
	output
}

// Run lists the keys. It shows no key material.
func (c *keysListCommand) Run(ctx context.Context, p *program) error {
	keys, err := p.openKeys(ctx)
	if err != nil {
		return err
	}
	defer keys.Close()
	states, err := keys.List(ctx)
	if err != nil {
		return err
	}
	type row struct {
		Kind        keyring.Kind `json:"kind"`
		ID          uint32       `json:"id"`
		Primary     bool         `json:"primary"`
		Needed      *int64       `json:"needed_by"`
		FirstSeen   *time.Time   `json:"first_seen_at"`
		LastPrimary *time.Time   `json:"last_primary_at"`
	}
	rows := []row{}
	for _, s := range states {
		r := row{Kind: s.Kind, ID: s.ID, Primary: s.Primary, FirstSeen: timeOrNull(s.FirstSeen), LastPrimary: timeOrNull(s.LastPrimary)}
		if s.Kind != keyring.KindPayload {
			r.Needed = &s.Needed
		}
		rows = append(rows, r)
	}
	return c.write(p.stdout, map[string]any{"keys": rows}, func() error {
		table := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "KIND\tID\tUSE\tNEEDED BY\tFIRST SEEN (UTC)\tLAST PRIMARY (UTC)")
		for _, r := range rows {
			use := "opens only"
			if r.Primary {
				use = "primary"
			}
			fmt.Fprintf(table, "%s\t%d\t%s\t%s\t%s\t%s\n", r.Kind, r.ID, use, needed(r.Kind, r.Needed), moment(r.FirstSeen), moment(r.LastPrimary))
		}
		return table.Flush()
	})
}

func needed(kind keyring.Kind, count *int64) string {
	switch {
	case count == nil:
		return "histories; retire asks Temporal"
	case kind == keyring.KindWrap:
		return counted(int(*count), "data key")
	default:
		return counted(int(*count), "event")
	}
}

func timeOrNull(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC()
	return &t
}

func moment(t *time.Time) string {
	if t == nil {
		return "-"
	}
	return t.Format("2006-01-02T15:04:05Z")
}

type keysAddCommand struct {
	kindArgument
	keysetOutput
}

// Run makes a key.
func (c *keysAddCommand) Run(ctx context.Context, p *program) error {
	return c.change(ctx, p, func(keys *app.Keys) (string, error) {
		id, err := keys.Add(c.Kind)
		if err != nil {
			return "", err
		}
		return fmt.Sprintf("%s key %d is added: it opens, and seals nothing yet.\nNext: restart every process, then `oncehook keys promote %s %d`.", c.Kind, id, c.Kind, id), nil
	})
}

type keysPromoteCommand struct {
	kindArgument
	ID uint32 `arg:"" optional:"" help:"The key; defaults to the one that was added last."`
	keysetOutput
}

// Run makes a key the primary one.
func (c *keysPromoteCommand) Run(ctx context.Context, p *program) error {
	return c.change(ctx, p, func(keys *app.Keys) (string, error) {
		id, err := keys.Promote(ctx, c.Kind, c.ID)
		if err != nil {
			return "", err
		}
		then := "the old one can be retired once nothing needs it"
		if c.Kind == keyring.KindWrap {
			then = "run `oncehook keys reencrypt`"
		}
		return fmt.Sprintf("%s key %d is the primary one.\nNext: restart every process, then %s.", c.Kind, id, then), nil
	})
}

type keysReencryptCommand struct{}

// Run wraps the data keys again.
func (c *keysReencryptCommand) Run(ctx context.Context, p *program) error {
	keys, err := p.openKeys(ctx)
	if err != nil {
		return err
	}
	defer keys.Close()
	lagging, err := keys.Lagging(ctx, keyring.KindWrap)
	if err != nil {
		return err
	}
	if lagging != "" {
		fmt.Fprintf(p.stderr, "still wrapping by an earlier key: %s. Restart with the keyset as it is now, then run this again\n", lagging)
	}
	var so int64 // told once there is more: the end tells the sum
	done, err := keys.Reencrypt(ctx, func(rewrapped int64) {
		if so > 0 {
			fmt.Fprintf(p.stderr, "%d data keys so far\n", so)
		}
		so = rewrapped
	})
	if err != nil {
		return fmt.Errorf("after %d data keys: %w; run it again to go on", done.Rewrapped, err)
	}
	if len(done.Unreadable) > 0 {
		return fmt.Errorf("%d data keys are wrapped again; %d do not open with this keyset and stay as they are, the first is number %d", done.Rewrapped, len(done.Unreadable), done.Unreadable[0])
	}
	if done.Rewrapped == 0 {
		fmt.Fprintln(p.stdout, "nothing is to do: every data key is wrapped by the primary key")
		return nil
	}
	fmt.Fprintf(p.stdout, "%s wrapped again; every one is wrapped by the primary key\n", countedAre(done.Rewrapped, "data key"))
	return nil
}

func countedAre(n int64, what string) string {
	if n == 1 {
		return "1 " + what + " is"
	}
	return fmt.Sprintf("%d %ss are", n, what)
}

type keysRetireCommand struct {
	kindArgument
	ID    uint32 `arg:"" help:"The key."`
	Force bool   `help:"Bear the consequence that the refusal named, where that is possible."`
	keysetOutput
}

// Run removes a key.
func (c *keysRetireCommand) Run(ctx context.Context, p *program) error {
	return c.change(ctx, p, func(keys *app.Keys) (string, error) {
		if err := keys.Retire(ctx, c.Kind, c.ID, c.Force); err != nil {
			return "", err
		}
		return fmt.Sprintf("%s key %d is retired.\nNext: restart every process. Copies of the keyset from before still hold the key: delete them once you are sure.", c.Kind, c.ID), nil
	})
}
