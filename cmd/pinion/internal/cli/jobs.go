package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/jobqueue"
	"pinion/runtime/jobqueue/store/admin"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/logtext"
	"pinion/runtime/natshost"
	"pinion/runtime/nearest"
	"pinion/runtime/predict"
)

const jobsHelp = `Look at the job queue of a model, which pinion serve --nats keeps, and repair it. No request body is shown, nor what a
server has redacted.

embed:DIR is the queue of a server of this host that runs with --nats embed:DIR; embed alone is its default folder. PINION_NATS
and PINION_MODEL save typing --nats and --model.`

const jobsExamples = `  pinion jobs list --nats nats://localhost:4222
  pinion jobs list --nats nats://localhost:4222 --model ocr --ended --failed
  pinion jobs show ID --nats embed:/var/lib/pinion/jobs --model ocr`

// jobsCommand is what all commands of 'pinion jobs' share.
type jobsCommand struct {
	nats   config.NATS
	model  string
	table  usertext.Settings
	all    bool // without a model the command is about all
	asJSON bool
}

func newJobs() *cobra.Command {
	c := &jobsCommand{}
	cmd := &cobra.Command{
		Use: "jobs", Short: "List, cancel and retry the jobs of a model's queue", Long: jobsHelp,
		Example: jobsExamples,
		Args:    noSubcommand,
		RunE:    func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	f := cmd.PersistentFlags()
	c.table = append(c.nats.Settings("URLs of NATS, or embed or embed:DIR for a server of this host", ""),
		config.ModelSetting(&c.model, "the model's name in the queue", ""))
	c.table.Bind(f)
	f.BoolVar(&c.asJSON, "json", false, "print JSON")
	cmd.AddCommand(c.list(), c.show(), c.cancel(), c.retry(), c.purge(), c.apply())
	return cmd
}

func (c *jobsCommand) fromEnvironment(f *pflag.FlagSet) error {
	if _, err := c.table.Read(f, os.Getenv); err != nil {
		return err
	}
	switch {
	case !c.nats.On():
		return errors.New("--nats is missing: give the URL of NATS, or embed:DIR")
	case c.model == "" && !c.all:
		return errors.New("--model is missing: give the model's name in the queue; pinion jobs list shows all")
	case c.model == "":
		return c.nats.Check()
	}
	if err := config.CheckQueued(c.model); err != nil {
		return fmt.Errorf("--model: %w", err)
	}
	return c.nats.Check()
}

// jobsTimeout bounds what a command asks of NATS.
const jobsTimeout = time.Minute

// run opens the queue for f.
func (c *jobsCommand) run(f func(ctx context.Context, cmd *cobra.Command, args []string,
	a *admin.Admin) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		if err := c.fromEnvironment(cmd.Flags()); err != nil {
			return process.Misused(err)
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), jobsTimeout)
		defer cancel()
		conn, err := c.connect(ctx)
		if err != nil {
			return process.Failed(err)
		}
		defer conn.Close()
		a, err := admin.Open(ctx, conn, c.model, 0, c.nats.Keys)
		if err != nil {
			return process.Failed(withNearest(err))
		}
		return process.Failed(f(ctx, cmd, args, a))
	}
}

// withNearest adds the nearest known name to the error of a model without a queue.
func withNearest(err error) error {
	if none, ok := errors.AsType[*admin.NoQueueError](err); ok {
		return fmt.Errorf("%w%s", err, nearest.Hint(none.Model, none.Known))
	}
	return err
}

// connect connects, and does not try again.
func (c *jobsCommand) connect(ctx context.Context) (*state.Conn, error) {
	if dir, ok := c.nats.Embeds(); ok {
		dir, err := config.EmbedFolder(dir, state.QueueName(c.model))
		if err != nil {
			return nil, err
		}
		conn, err := state.DialOnce(ctx, natshost.Dialer{Dir: dir}, "pinion jobs")
		if err != nil {
			return nil, &natshost.NotServedError{Dir: dir, Cause: err}
		}
		return conn, nil
	}
	var lost atomic.Pointer[error] // the client of NATS calls from a goroutine
	queue := ""
	if c.model != "" {
		queue = state.QueueName(c.model)
	}
	conn := c.nats.Dial(queue, "pinion jobs", func(err error) {
		if err != nil {
			lost.Store(&err)
		}
	})
	err := conn.Tried(ctx)
	if err == nil && !conn.IsConnected() {
		err = fmt.Errorf("NATS cannot be reached: %w", *lost.Load())
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// print prints a value as JSON, or by table.
func (c *jobsCommand) print(cmd *cobra.Command, v any, table func() error) error {
	if !c.asJSON {
		return table()
	}
	e := json.NewEncoder(cmd.OutOrStdout())
	e.SetEscapeHTML(false)
	return e.Encode(v)
}

// say prints a value as JSON, or a line of text.
func (c *jobsCommand) say(cmd *cobra.Command, v any, text string) error {
	return c.print(cmd, v, func() error {
		_, err := fmt.Fprintln(cmd.OutOrStdout(), text)
		return err
	})
}

func (c *jobsCommand) show() *cobra.Command {
	return &cobra.Command{
		Use: "show ID", Short: "Show a job: its state, its prediction, its dead letter", Args: oneID,
		Example: "  pinion jobs show ID --nats nats://localhost:4222 --model ocr",
		RunE: c.run(func(ctx context.Context, cmd *cobra.Command, args []string, a *admin.Admin) error {
			s, e, l, err := a.Job(ctx, args[0])
			if err != nil {
				return about(args[0], err)
			}
			show := newShowView(args[0], s, e, l)
			return c.print(cmd, show, func() error { return show.table(cmd.OutOrStdout(), time.Now()) })
		}),
	}
}

func (c *jobsCommand) cancel() *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID", Short: "Cancel a job that waits or runs", Args: oneID,
		Long:    "Cancel a job that waits, or ask the server that runs it to.",
		Example: "  pinion jobs cancel ID --nats nats://localhost:4222 --model ocr",
		RunE: c.run(func(ctx context.Context, cmd *cobra.Command, args []string, a *admin.Admin) error {
			canceled, err := a.Cancel(ctx, args[0], &jobqueue.Renderer{})
			if err == nil && !canceled {
				err = errors.New("it has ended already")
			}
			if err != nil {
				return about(args[0], err)
			}
			return c.say(cmd, map[string]string{"id": args[0], "status": "canceled"}, "canceled "+args[0])
		}),
	}
}

func (c *jobsCommand) retry() *cobra.Command {
	return &cobra.Command{
		Use: "retry ID", Short: "Make a new prediction of a dead letter, and print its id", Args: oneID,
		Long: "Make a new prediction of a dead letter, print its id, and remove the letter. The prediction has no deadline, and " +
			"the same class, tenant and webhook.",
		Example: "  pinion jobs retry ID --nats nats://localhost:4222 --model ocr",
		RunE: c.run(func(ctx context.Context, cmd *cobra.Command, args []string, a *admin.Admin) error {
			id := predict.NewID(time.Now())
			err := a.Retry(ctx, args[0], id,
				func(old *state.State) json.RawMessage { return (&jobqueue.Renderer{}).RenderRetry(id, old) })
			if errors.Is(err, state.ErrUnknown) {
				err = errors.New("no dead letter")
			}
			if err != nil {
				return about(args[0], err)
			}
			return c.say(cmd, map[string]string{"id": id, "retry_of": args[0]}, id)
		}),
	}
}

func (c *jobsCommand) purge() *cobra.Command {
	var all bool
	cmd := &cobra.Command{
		Use: "purge [ID]", Short: "Remove the dead letter of a job, or all of them",
		Long: "Remove the dead letter of a job, or with --all those of the model. Dead letters expire after seven days.",
		Example: "  pinion jobs purge ID --nats nats://localhost:4222 --model ocr\n" +
			"  pinion jobs purge --all --nats nats://localhost:4222 --model ocr",
	}
	cmd.Args = func(_ *cobra.Command, args []string) error {
		if len(args) > 1 || all == (len(args) == 1) {
			return errors.New("pinion jobs purge takes the id of one dead letter, or --all")
		}
		return nil
	}
	cmd.RunE = c.run(func(ctx context.Context, cmd *cobra.Command, args []string, a *admin.Admin) error {
		id := ""
		if len(args) > 0 {
			id = args[0]
		}
		n, err := a.Purge(ctx, id)
		if err == nil && n == 0 && id != "" {
			err = about(id, errors.New("no dead letter"))
		}
		if err != nil {
			return err
		}
		return c.say(cmd, map[string]int{"purged": n}, "removed "+terminal.Counted(n, "dead letter"))
	})
	cmd.Flags().BoolVar(&all, "all", false, "all dead letters of the model")
	return cmd
}

func oneID(cmd *cobra.Command, args []string) error {
	if len(args) != 1 || args[0] == "" {
		return fmt.Errorf("pinion jobs %s takes the id of one job", cmd.Name())
	}
	return nil
}

// about names the job that an error is about.
func about(id string, err error) error {
	if errors.Is(err, state.ErrUnknown) {
		return fmt.Errorf("%s: no such job: it was never accepted, or has ended more than --result-ttl ago",
			logtext.Clip(id))
	}
	return fmt.Errorf("%s: %w", logtext.Clip(id), err)
}
