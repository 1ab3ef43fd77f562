package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/jobqueue/store"
)

// limitFlags are the limits of 'pinion jobs apply'.
type limitFlags struct {
	capacity, tenantCapacity int64
	bytes                    usertext.Bytes
	replicas, lanes          int
	ackWait                  time.Duration
}

func (c *jobsCommand) apply() *cobra.Command {
	var s limitFlags
	cmd := &cobra.Command{
		Use: "apply", Short: "Change the limits of a queue in place", Args: noArguments,
		Long: `Change the limits of a queue in place. Only the flags that are given are changed. Servers compare their settings with the queue
when they start: give them the same flags from then on.`,
		Example: "  pinion jobs apply --jobs-capacity 200000 --nats nats://localhost:4222 --model ocr",
	}
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		limits, err := s.limits(cmd.Flags().Changed)
		if err != nil {
			return process.Misused(err)
		}
		return c.run(func(ctx context.Context, cmd *cobra.Command, _ []string, a *store.Admin) error {
			changes, err := a.Apply(ctx, limits)
			if err != nil && len(changes) == 0 {
				return err
			}
			if changes == nil {
				changes = []store.Change{}
			}
			return errors.Join(err, c.print(cmd, changes, func() error { return printChanges(cmd.OutOrStdout(), changes) }))
		})(cmd, args)
	}
	f := cmd.Flags()
	f.Int64Var(&s.capacity, "jobs-capacity", 0, "how many jobs may wait and run (default: as it is)")
	f.Var(&s.bytes, "jobs-bytes", "disk space that NATS reserves for the bodies of jobs (default: as it is)")
	f.Int64Var(&s.tenantCapacity, "tenant-capacity", 0,
		"how many jobs of one tenant may wait and run in each class; 0: any number (default: as it is)")
	f.IntVar(&s.replicas, "nats-replicas", 0, "on how many NATS servers each job is stored (default: as it is)")
	f.IntVar(&s.lanes, "lanes", 0,
		"number of lanes over which the tenants are spread; cannot be lowered (default: as it is)")
	f.DurationVar(&s.ackWait, "ack-wait", 0,
		"how long a server may be silent before another one gets its job; at least 15s (default: as it is)")
	return cmd
}

// limits returns the limits whose flags were given.
func (s *limitFlags) limits(given func(string) bool) (l store.Limits, err error) {
	bytes := int64(s.bytes)
	for _, flag := range []struct {
		name string
		ok   bool
		want string
		set  func()
	}{
		{"jobs-capacity", s.capacity >= 1, "at least 1", func() { l.Capacity = &s.capacity }},
		{"jobs-bytes", bytes >= config.MinJobsBytes, "at least 16MiB", func() { l.Bytes = &bytes }},
		{"tenant-capacity", s.tenantCapacity >= 0, "at least 0", func() { l.TenantCapacity = &s.tenantCapacity }},
		{
			"nats-replicas", s.replicas >= 1 && s.replicas <= config.MaxReplicas, fmt.Sprint("1 to ", config.MaxReplicas),
			func() { l.Replicas = &s.replicas },
		},
		{
			"lanes", s.lanes >= 1 && s.lanes <= config.MaxLanes, fmt.Sprint("1 to ", config.MaxLanes),
			func() { l.Lanes = &s.lanes },
		},
		{
			"ack-wait", s.ackWait >= config.MinAckWait, fmt.Sprint("at least ", config.MinAckWait),
			func() { l.AckWait = &s.ackWait },
		},
	} {
		switch {
		case !given(flag.name):
		case !flag.ok:
			return l, fmt.Errorf("--%s: must be %s", flag.name, flag.want)
		default:
			flag.set()
		}
	}
	if l == (store.Limits{}) {
		return l, errors.New("nothing to apply: give a limit, as --jobs-capacity 200000")
	}
	return l, nil
}
