package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/nearest"
	"pinion/runtime/weights"
)

const weightsHelp = `Fetch the weights that cog.yaml names, as pinion serve does at its start, and look at what is there. NAME is that of
weights in cog.yaml; without one all are meant.

The cache is $PINION_CACHE_DIR/weights, else $COG_CACHE_DIR/weights, else that of Cog: ~/.cache/cog/weights.`

// weightsCommand is what all commands of 'pinion weights' share.
type weightsCommand struct {
	folder string

	model *model.Model
	lock  *weights.Lock  // nil if there is none
	cache *weights.Cache // nil if there are no weights
	into  bool           // weights are for other containers
}

func newWeights() *cobra.Command {
	c := &weightsCommand{}
	cmd := &cobra.Command{
		Use: "weights", Short: "Fetch a model's weights, and check them", Long: weightsHelp,
		Example: `  pinion weights pull
  pinion weights status --json
  pinion weights lock
  pinion weights verify base --folder ./ocr
  pinion weights prune --keep 100GiB`,
		Args: noSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&c.folder, "folder", ".", "the model's folder")
	cmd.AddCommand(c.pull(), c.status(), c.verify(), c.writeLock(), pruneWeights())
	return cmd
}

// find finds the weights of the names, and the cache. anyLock means that the lock may be of another cog.yaml.
func (c *weightsCommand) find(names []string, anyLock bool) (err error) {
	if c.model, c.lock, err = model.FindWeights(c.folder, anyLock); err != nil {
		return process.Misused(err)
	}
	if len(names) > 0 {
		for _, name := range names {
			if known := c.model.WeightNames(); !slices.Contains(known, name) {
				return process.Misused(fmt.Errorf("%s has no weights %q that are fetched%s: it has %s",
					model.CogFile, name, nearest.Hint(name, known), cmp.Or(strings.Join(known, ", "), "none")))
			}
		}
		c.model.Weights = slices.DeleteFunc(c.model.Weights, func(w weights.Weight) bool {
			return !slices.Contains(names, w.Name)
		})
	}
	if len(c.model.Weights) == 0 { // nothing asks the cache
		return nil
	}
	c.cache, err = model.OpenWeightsCache()
	return process.Failed(err)
}

func (c *weightsCommand) pull() *cobra.Command {
	var timeout time.Duration
	var into string
	cmd := &cobra.Command{
		Use: "pull [NAME...]", Short: "Fetch weights and place them at their targets",
		Long: `Fetch weights into the cache, check them, and place them at their targets, as a server does at its start. What is
there already is not fetched again. A pull that was interrupted goes on where it was.

--into places each of the weights in its own folder below another one, for containers that mount it at the target, with the markers
by which their servers see when all is there. The cache is then DIR/.cache, unless PINION_CACHE_DIR is set.`,
		Example: "  pinion weights pull\n  pinion weights pull base vae\n  pinion weights pull --into /mnt/weights",
		RunE: func(_ *cobra.Command, names []string) error {
			if err := c.find(names, false); err != nil {
				return err
			}
			if err := c.pullInto(into); err != nil {
				return process.Failed(err)
			}
			return process.Failed(c.run(timeout, false, func(run *weights.Run) error {
				p := run.Progress()
				_, err := fmt.Printf("%s, %s: all there\n", terminal.Counted(p.Files, "file"), sizeText(p.Done))
				return err
			}))
		},
	}
	cmd.Flags().DurationVar(&timeout, "weights-timeout", 0, "how long it may take; 0: any time")
	cmd.Flags().StringVar(&into, "into", "", "the folder that gets a folder for each of the weights")
	return cmd
}

// pullInto has weights placed below a folder instead of at their targets; "" means at those.
func (c *weightsCommand) pullInto(folder string) (err error) {
	if folder == "" || len(c.model.Weights) == 0 {
		return nil
	}
	if folder, err = filepath.Abs(folder); err != nil {
		return err
	}
	for i := range c.model.Weights {
		w := &c.model.Weights[i]
		w.Target, w.IsFile = filepath.Join(folder, w.Name), false
	}
	if c.into = true; os.Getenv("PINION_CACHE_DIR") == "" {
		c.cache, err = weights.OpenCache(filepath.Join(folder, ".cache"))
	}
	return err
}

// pullPause is how often the progress is shown.
const pullPause = 200 * time.Millisecond

// noWeights says that there are none.
func noWeights() error {
	_, err := fmt.Printf("%s has no weights that are fetched\n", model.CogFile)
	return err
}

// run fetches weights, shows how far it is, and calls done when they are there.
func (c *weightsCommand) run(timeout time.Duration, forLock bool, done func(*weights.Run) error) error {
	if len(c.model.Weights) == 0 {
		return noWeights()
	}
	screen := terminal.NewScreen(os.Stderr)
	o := model.WeightsOptions(c.model, c.cache, terminal.NewModelLog(screen))
	o.Timeout, o.ForLock, o.Into = timeout, forLock, c.into
	interrupted := process.WatchInterrupts(false)
	run := weights.Start(o, c.model.Weights, func(*weights.Weight, error) {})
	defer run.Close()
	screen.Show("fetching weights")
	defer screen.Hide()
	tick := time.NewTicker(pullPause)
	defer tick.Stop()
	for {
		select {
		case <-interrupted:
			return process.ErrInterrupted
		case <-tick.C:
			screen.Draft([]byte(progressText(run.Progress())))
		case <-run.Done():
			screen.Hide()
			if err := run.Err(); err != nil {
				return weightsError(err)
			}
			return done(run)
		}
	}
}

func (c *weightsCommand) writeLock() *cobra.Command {
	return &cobra.Command{
		Use: "lock", Short: "Write weights.lock, which says which files the weights are",
		Long: `Ask the sources what they have, and write it into weights.lock, in Cog's form: names, sizes, SHA-256, and the version of
each source. Servers then take these files and no others. Files whose SHA-256 a source does not tell are fetched into the cache. Keep
weights.lock beside cog.yaml, in version control. New entries have no layers of a registry: 'cog weights import' adds them.`,
		Example: "  pinion weights lock", Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := c.find(nil, true); err != nil {
				return err
			}
			return process.Failed(c.run(0, true, func(run *weights.Run) error {
				l := run.Lock(c.lock)
				if err := l.Write(filepath.Join(c.model.Dir, weights.LockFile)); err != nil {
					return fmt.Errorf("write the lock: %w", err)
				}
				layers := 0
				for _, e := range l.Weights {
					fmt.Printf("%s: %s, %s, %s\n", e.Name, terminal.Counted(len(e.Files), "file"), sizeText(e.Size), e.SetDigest)
					layers += len(e.Layers)
				}
				if layers == 0 && c.model.Image != "" {
					fmt.Println("the layers of the registry are not in the lock: 'cog weights import' adds them")
				}
				return nil
			}))
		},
	}
}

func pruneWeights() *cobra.Command {
	keep := usertext.Bytes(-1)
	cmd := &cobra.Command{
		Use: "prune --keep SIZE", Short: "Remove from the cache what was used longest ago",
		Long: `Remove the files of the cache that were used longest ago, until it has the given size. Files that a server holds, and
those that a target has as symbolic links, stay. The cache is that of all models.`,
		Example: "  pinion weights prune --keep 100GiB", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if keep < 0 {
				return process.Misused(errors.New("--keep is missing: name the size that the cache may have, as --keep 100GiB"))
			}
			cache, err := model.OpenWeightsCache()
			if err != nil {
				return process.Failed(err)
			}
			p, err := cache.Prune(cmd.Context(), int64(keep))
			if err != nil {
				return process.Failed(err)
			}
			held := ""
			if p.Left > int64(keep) {
				held = ", which servers or targets use"
			}
			_, err = fmt.Printf("%s, %s: removed from %s; %s are left%s\n", terminal.Counted(p.Files, "file"), sizeText(p.Bytes),
				cache.Root(), sizeText(p.Left), held)
			return process.Failed(err)
		},
	}
	cmd.Flags().Var(&keep, "keep", "the size that the cache may have, as 100GiB")
	return cmd
}

func progressText(p weights.Progress) string {
	return fmt.Sprintf("%s of %s, %d of %s, %s/s", sizeText(p.Done), sizeText(p.Total), p.Files,
		terminal.Counted(p.OfFiles, "file"), sizeText(int64(p.Rate)))
}

// sizeText returns bytes in the unit that gives a short number.
func sizeText(n int64) string {
	units := []string{"B", "kB", "MB", "GB", "TB"}
	size, unit := float64(n), 0
	for size >= 1000 && unit < len(units)-1 {
		size, unit = size/1000, unit+1
	}
	if unit == 0 {
		return strconv.FormatInt(n, 10) + " B"
	}
	return strconv.FormatFloat(size, 'f', 1, 64) + " " + units[unit]
}

// weightsError adds the line of cog.yaml.
func weightsError(err error) error {
	if of, is := errors.AsType[*weights.Error](err); is {
		return fmt.Errorf("%s:%d: %w", model.CogFile, of.Line, err)
	}
	return err
}

// weightView is one of the weights as 'pinion weights status' prints it, with Cog's keys.
type weightView struct {
	Name           string        `json:"name"`
	Target         string        `json:"target"`
	Status         weights.State `json:"status"`
	Size           int64         `json:"size,omitempty"`
	SizeCompressed int64         `json:"sizeCompressed,omitempty"`
	LayerCount     int           `json:"layerCount,omitempty"`
	FileCount      int           `json:"fileCount,omitempty"`
	Digest         string        `json:"digest,omitempty"`
	Source         *sourceView   `json:"source,omitempty"`
}

type sourceView struct {
	URI         string `json:"uri"`
	Fingerprint string `json:"fingerprint"`
}

func (v *weightView) locked(e *weights.Locked) {
	v.Size, v.SizeCompressed, v.Digest = e.Size, e.SizeCompressed, e.Digest
	v.LayerCount, v.FileCount = len(e.Layers), len(e.Files)
	if e.Source != nil {
		v.Source = &sourceView{e.Source.URI, e.Source.Fingerprint}
	}
}

func (c *weightsCommand) status() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status [NAME...]", Short: "Show which weights are at their targets",
		Long: `Show which weights are at their targets, by their names and sizes. No source is asked.

  ready       all files are there
  incomplete  a part is there: pinion weights pull goes on
  stale       weights.lock is of another cog.yaml, or of other files than those that are there
  pending     nothing is there yet
  orphaned    weights.lock has it, and cog.yaml has not

The exit code is 1 unless all are ready.`,
		Example: "  pinion weights status\n  pinion weights status --json",
		RunE: func(_ *cobra.Command, names []string) error {
			if err := c.find(names, true); err != nil {
				return err
			}
			views, err := c.views(len(names) == 0)
			if err == nil {
				err = printWeights(views, asJSON)
			}
			if err != nil {
				return process.Failed(err)
			}
			if slices.ContainsFunc(views, func(v weightView) bool { return v.Status != weights.Ready }) {
				return process.ExitWith(process.ExitFailure)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// views returns the state of the weights, and of those that only the lock has.
func (c *weightsCommand) views(all bool) ([]weightView, error) {
	views := []weightView{}
	for i := range c.model.Weights {
		w := &c.model.Weights[i]
		s, err := c.cache.StatusOf(w)
		if err != nil {
			return nil, weightsError(&weights.Error{Name: s.Name, Line: w.Line, Err: err})
		}
		view := weightView{Name: s.Name, Target: s.Target, Status: s.State, FileCount: len(s.Files)}
		for _, f := range s.Files {
			view.Size += max(f.Size, 0)
		}
		switch e := c.lock.Find(w.Name); {
		case e != nil && w.Lock == nil:
			view.Status = weights.Stale
			view.locked(e)
		case e != nil:
			view.locked(e)
		case c.lock != nil:
			view.Status = weights.Pending
		}
		views = append(views, view)
	}
	for _, e := range c.lock.Orphans() {
		if all {
			view := weightView{Name: e.Name, Target: e.Target, Status: weights.Orphaned}
			view.locked(&e)
			views = append(views, view)
		}
	}
	return views, nil
}

func printWeights(views []weightView, asJSON bool) error {
	if asJSON {
		return inputs.PrintValue(os.Stdout, map[string]any{"weights": views})
	}
	if len(views) == 0 {
		return noWeights()
	}
	t := newTable(os.Stdout)
	t.row("NAME", "STATUS", "FILES", "SIZE", "TARGET")
	for _, v := range views {
		files, size := "", ""
		if v.FileCount > 0 {
			files, size = strconv.Itoa(v.FileCount), sizeText(v.Size)
		}
		t.row(safe(v.Name), string(v.Status), files, size, safe(v.Target))
	}
	return t.Flush()
}

func (c *weightsCommand) verify() *cobra.Command {
	return &cobra.Command{
		Use: "verify [NAME...]", Short: "Check the SHA-256 of weights at their targets",
		Long: `Compute the SHA-256 of each file that was placed, and compare it with that of its source. A wrong file is removed, from
the cache too: pinion weights pull fetches it again. The exit code is then 1.`,
		Example: "  pinion weights verify\n  pinion weights verify base",
		RunE: func(_ *cobra.Command, names []string) error {
			if err := c.find(names, true); err != nil {
				return err
			}
			return process.Failed(verifyWeights(c.model, c.cache))
		},
	}
}

func verifyWeights(m *model.Model, cache *weights.Cache) error {
	var all []error
	total := 0
	for i := range m.Weights {
		checked, wrong := cache.Verify(&m.Weights[i])
		total += checked
		for _, err := range wrong {
			all = append(all, weightsError(&weights.Error{Name: m.Weights[i].Name, Line: m.Weights[i].Line, Err: err}))
		}
	}
	if len(all) > 0 {
		return errors.Join(all...)
	}
	_, err := fmt.Printf("%s: all right\n", terminal.Counted(total, "file"))
	return err
}
