package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/config"
	"pinion/cmd/pinion/internal/process"
	"pinion/runtime/jobqueue/store/state"
	"pinion/runtime/natshost"
)

// modelsView is what 'pinion jobs list' prints without a model.
type modelsView struct {
	Models []queueView `json:"models"`
}

// queueView is the queue of a model.
type queueView struct {
	Model         string `json:"model"`
	Stream        string `json:"stream"` // of its jobs, for KEDA and NATS's own tools
	Stored        int    `json:"stored"` // jobs that wait or run
	Waiting       int    `json:"waiting"`
	Dead          int    `json:"dead"`
	Capacity      int64  `json:"capacity"`
	OldestWaiting string `json:"oldest_waiting,omitempty"`

	oldest time.Time
}

// listModels prints the state of the queues of all models.
func (c *jobsCommand) listModels(cmd *cobra.Command) error {
	ctx, cancel := context.WithTimeout(cmd.Context(), jobsTimeout)
	defer cancel()
	view := modelsView{Models: []queueView{}}
	err := c.everyNATS(ctx, func(conn *state.Conn) error {
		summaries, err := conn.Summaries(ctx)
		for i := range summaries {
			q := &summaries[i]
			view.Models = append(view.Models, queueView{
				Model: q.Model, Stream: q.Stream, Stored: q.Stored, Waiting: q.Waiting, Dead: q.Dead,
				Capacity: q.Capacity, OldestWaiting: instant(q.Oldest), oldest: q.Oldest,
			})
		}
		return err
	})
	if err != nil {
		return process.Failed(err)
	}
	return process.Failed(c.print(cmd, view, func() error { return view.table(cmd.OutOrStdout(), time.Now()) }))
}

// everyNATS calls f with each NATS that has queues: with --nats embed each served model has its own.
func (c *jobsCommand) everyNATS(ctx context.Context, f func(*state.Conn) error) error {
	if dir, embeds := c.nats.Embeds(); !embeds || dir != "" {
		conn, err := c.connect(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		return f(conn)
	}
	folders, err := config.EmbedFolder("", "")
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(folders)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	var none error = &natshost.NotServedError{Dir: filepath.Join(folders, "MODEL"), Cause: os.ErrNotExist}
	for _, folder := range entries {
		conn, err := state.DialOnce(ctx, natshost.Dialer{Dir: filepath.Join(folders, folder.Name())}, "pinion jobs")
		if err != nil { // no server runs with it
			continue
		}
		err = f(conn)
		conn.Close()
		if err != nil {
			return err
		}
		none = nil
	}
	return none
}

// table prints a line for each model.
func (v *modelsView) table(w io.Writer, now time.Time) error {
	if len(v.Models) == 0 {
		_, err := io.WriteString(w, "no model has a job queue\n")
		return err
	}
	t := newTable(w)
	t.row("MODEL", "WAITING", "STORED", "CAPACITY", "DEAD", "OLDEST WAITING")
	for _, q := range v.Models {
		oldest := ""
		if !q.oldest.IsZero() {
			oldest = age(now, q.oldest)
		}
		t.row(safe(q.Model), strconv.Itoa(q.Waiting), strconv.Itoa(q.Stored), strconv.FormatInt(q.Capacity, 10),
			strconv.Itoa(q.Dead), oldest)
	}
	return t.Flush()
}
