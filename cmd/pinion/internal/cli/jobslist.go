package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/state"
)

// jobsListing is which jobs 'pinion jobs list' lists.
type jobsListing struct {
	class, status string // "" means all
	ended, failed bool
	limit         int
}

func (c *jobsCommand) list() *cobra.Command {
	var l jobsListing
	cmd := &cobra.Command{
		Use: "list", Args: noArguments,
		Short: "List jobs that wait or run, dead letters, or what has ended",
		Long: "List the jobs that wait or run, and the dead letters: those that no server could end. The oldest come first. " +
			"Without --model, count those of each model.",
		Example: `  pinion jobs list --nats nats://localhost:4222
  pinion jobs list --nats nats://localhost:4222 --model ocr --status running
  pinion jobs list --nats nats://localhost:4222 --model ocr --ended --failed`,
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		if err := l.check(); err != nil {
			return process.Misused(err)
		}
		if c.all = l.class == "" && l.status == "" && !l.ended; c.all {
			if err := c.fromEnvironment(cmd.Flags()); err != nil {
				return process.Misused(err)
			}
			if c.model == "" {
				return c.listModels(cmd)
			}
		}
		return c.run(func(ctx context.Context, cmd *cobra.Command, _ []string, a *admin.Admin) error {
			list, err := l.read(ctx, a)
			if err != nil {
				return err
			}
			return c.print(cmd, list, func() error { return list.table(cmd.OutOrStdout(), time.Now()) })
		})(cmd, args)
	}
	f := cmd.Flags()
	usertext.Settings{
		{
			To: &l.class, Name: "class", Variable: usertext.NoVariable, Words: []string{"hi", "std", "lo"},
			Help: "only jobs of this class: hi, std or lo",
		},
		{
			To: &l.status, Name: "status", Variable: usertext.NoVariable, Words: []string{"waiting", "running", "dead"},
			Help: "only jobs with this status: waiting, running or dead",
		},
	}.Bind(f)
	f.BoolVar(&l.ended, "ended", false, "list the jobs that have ended instead, with their errors, the newest first")
	f.BoolVar(&l.failed, "failed", false, "with --ended: only those that failed")
	f.IntVar(&l.limit, "limit", 100,
		"how many jobs, and how many dead letters, are listed at most; 0: all")
	return cmd
}

func (l *jobsListing) check() error {
	switch {
	case l.ended && (l.class != "" || l.status != ""):
		return errors.New("--ended lists what has ended: leave --class and --status out")
	case l.failed && !l.ended:
		return errors.New("--failed is for --ended: give both")
	case l.limit < 0:
		return fmt.Errorf("--limit %d: must be at least 0", l.limit)
	}
	return nil
}

// read asks the queue for them.
func (l *jobsListing) read(ctx context.Context, a *admin.Admin) (interface {
	table(w io.Writer, now time.Time) error
}, error,
) {
	if l.ended {
		return readEnded(ctx, a, l.failed, l.limit)
	}
	return readList(ctx, a, state.Class(l.class), l.status, l.limit)
}
