package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"

	"github.com/oncehook/oncehook/app"
)

type historyCommand struct {
	Check historyCheckCommand `cmd:"" help:"Check that this binary's workflows can go on with recorded runs. Executes and changes nothing."`
	Codec historyCodecCommand `cmd:"" help:"Print a codec endpoint with which your Temporal UI decrypts, for ${codec_life}."`
}

// historyCheckCommand is what to run before a deploy: a worker that cannot repeat
// a run's commands cannot go on with it.
type historyCheckCommand struct {
	File       []string `placeholder:"FILE" type:"existingfile" help:"A history in JSON, as the Temporal UI downloads it; repeatable."`
	WorkflowID string   `placeholder:"ID" help:"A run in Temporal, by its workflow id, which is the event key."`
	RunID      string   `placeholder:"ID" help:"Which run of it; defaults to the latest."`
	Open       int      `placeholder:"N" help:"The N newest open runs in Temporal."`
}

// Run checks each history and exits with 1 when one cannot be gone on with.
func (c *historyCheckCommand) Run(ctx context.Context, p *program) error {
	if len(c.File) == 0 && c.WorkflowID == "" && c.Open <= 0 {
		return usagef("nothing to check: name a --file, a --workflow-id, or --open N")
	}
	a, err := p.open()
	if err != nil {
		return err
	}
	checked, failed := 0, 0
	check := func(name string, history *historypb.History) {
		checked++
		if err := a.CheckHistory(history); err != nil {
			failed++
			fmt.Fprintf(p.stdout, "DIFFERS  %s: %v\n", name, err)
			return
		}
		fmt.Fprintf(p.stdout, "ok       %s\n", name)
	}
	for _, name := range c.File {
		history, err := readHistory(name)
		if err != nil {
			return err
		}
		check(name, history)
	}
	if err := c.checkRuns(ctx, a, check); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%d of %s cannot be gone on with", failed, counted(checked, "run"))
	}
	if checked == 0 {
		fmt.Fprintln(p.stdout, "there are no open runs: nothing is to check")
		return nil
	}
	fmt.Fprintf(p.stdout, "%s can be gone on with\n", counted(checked, "run"))
	return nil
}

func (c *historyCheckCommand) checkRuns(ctx context.Context, a *app.App, check func(string, *historypb.History)) error {
	if c.WorkflowID == "" && c.Open <= 0 {
		return nil
	}
	histories, err := a.OpenHistories(ctx)
	if err != nil {
		return err
	}
	defer histories.Close()
	var runs []app.Run
	if c.Open > 0 {
		if runs, err = histories.Open(ctx, c.Open); err != nil {
			return err
		}
	}
	if c.WorkflowID != "" {
		runs = append(runs, app.Run{WorkflowID: c.WorkflowID, RunID: c.RunID})
	}
	for _, run := range runs {
		history, err := histories.Read(ctx, run)
		if err != nil {
			return err
		}
		check(run.WorkflowID, history)
	}
	return nil
}

func readHistory(name string) (read *historypb.History, failed error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read a history: %w", err)
	}
	defer func() { failed = errors.Join(failed, file.Close()) }()
	history, err := client.HistoryFromJSON(file, client.HistoryJSONOptions{})
	if err != nil {
		return nil, fmt.Errorf("%s is not a history in JSON: %w", name, err)
	}
	return history, nil
}
