package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/runtime/jobqueue/store/admin"
)

func (c *jobsCommand) apply() *cobra.Command {
	var s config.Jobs
	table := s.Limits()
	cmd := &cobra.Command{
		Use: "apply", Short: "Change the limits of a queue in place", Args: noArguments,
		Long: `Change the limits of a queue in place. Only the flags that are given are changed. Servers compare their settings with the queue
when they start: give them the same flags from then on.`,
		Example: "  pinion jobs apply --jobs-capacity 200000 --nats nats://localhost:4222 --model ocr",
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		limits, err := s.Changes(table)
		if err != nil {
			return process.Misused(err)
		}
		return c.run(func(ctx context.Context, cmd *cobra.Command, _ []string, a *admin.Admin) error {
			changes, err := a.Apply(ctx, limits)
			if err != nil && len(changes) == 0 {
				return err
			}
			if changes == nil {
				changes = []admin.Change{}
			}
			return errors.Join(err, c.print(cmd, changes, func() error { return printChanges(cmd.OutOrStdout(), changes) }))
		})(cmd, args)
	}
	table.Bind(cmd.Flags())
	return cmd
}
