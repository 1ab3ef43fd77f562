package cli

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/runtime/nearest"
	"pinion/runtime/weights"
)

const weightsHelp = `Fetch the weights that cog.yaml names, as pinion serve does at its start, and look at what is there. NAME is that of
weights in cog.yaml; without one all are meant.

The cache is $PINION_CACHE_DIR/weights, else $COG_CACHE_DIR/weights, else that of Cog: ~/.cache/cog/weights.`

// weightsCommand is what all commands of 'pinion weights' share.
type weightsCommand struct{ folder string }

func newWeights() *cobra.Command {
	c := &weightsCommand{}
	cmd := &cobra.Command{
		Use: "weights", Short: "Fetch a model's weights, and check them", Long: weightsHelp,
		Example: `  pinion weights pull
  pinion weights status --json
  pinion weights verify base --folder ./ocr`,
		Args: noSubcommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.PersistentFlags().StringVar(&c.folder, "folder", ".", "the model's folder")
	cmd.AddCommand(c.pull(), c.status(), c.verify())
	return cmd
}

// find returns the weights of the names, and the cache.
func (c *weightsCommand) find(names []string) (*model.Model, *weights.Cache, error) {
	m, err := model.FindWeights(c.folder)
	if err != nil {
		return nil, nil, process.Misused(err)
	}
	if len(names) > 0 {
		for _, name := range names {
			if known := m.WeightNames(); !slices.Contains(known, name) {
				return nil, nil, process.Misused(fmt.Errorf("%s has no weights %q that are fetched%s: it has %s",
					model.CogFile, name, nearest.Hint(name, known), cmp.Or(strings.Join(known, ", "), "none")))
			}
		}
		m.Weights = slices.DeleteFunc(m.Weights, func(w weights.Weight) bool { return !slices.Contains(names, w.Name) })
	}
	if len(m.Weights) == 0 { // nothing asks the cache
		return m, nil, nil
	}
	cache, err := model.OpenWeightsCache()
	return m, cache, process.Failed(err)
}

func (c *weightsCommand) pull() *cobra.Command {
	var timeout time.Duration
	cmd := &cobra.Command{
		Use: "pull [NAME...]", Short: "Fetch weights and place them at their targets",
		Long: `Fetch weights into the cache, check them, and place them at their targets, as a server does at its start. What is
there already is not fetched again. A pull that was interrupted goes on where it was.`,
		Example: "  pinion weights pull\n  pinion weights pull base vae",
		RunE: func(_ *cobra.Command, names []string) error {
			m, cache, err := c.find(names)
			if err != nil {
				return err
			}
			return process.Failed(pullWeights(m, cache, timeout))
		},
	}
	cmd.Flags().DurationVar(&timeout, "weights-timeout", 0, "how long it may take; 0: any time")
	return cmd
}

// pullPause is how often the progress is shown.
const pullPause = 200 * time.Millisecond

// pullWeights fetches weights, and shows how far it is.
func pullWeights(m *model.Model, cache *weights.Cache, timeout time.Duration) error {
	if len(m.Weights) == 0 {
		_, err := fmt.Printf("%s has no weights that are fetched\n", model.CogFile)
		return err
	}
	screen := terminal.NewScreen(os.Stderr)
	o := model.WeightsOptions(m, cache, terminal.NewModelLog(screen))
	o.Timeout = timeout
	interrupted := process.WatchInterrupts(false)
	run := weights.Start(o, m.Weights, func(*weights.Weight, error) {})
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
			p := run.Progress()
			_, err := fmt.Printf("%s, %s: all there\n", terminal.Counted(p.Files, "file"), sizeText(p.Done))
			return err
		}
	}
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
	Name      string        `json:"name"`
	Target    string        `json:"target"`
	Status    weights.State `json:"status"`
	Size      int64         `json:"size,omitempty"`
	FileCount int           `json:"fileCount,omitempty"`
}

func (c *weightsCommand) status() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use: "status [NAME...]", Short: "Show which weights are at their targets",
		Long: `Show which weights are at their targets, by their names and sizes. No source is asked.

  ready       all files are there
  incomplete  a part is there: pinion weights pull goes on
  pending     nothing is there yet

The exit code is 1 unless all are ready.`,
		Example: "  pinion weights status\n  pinion weights status --json",
		RunE: func(_ *cobra.Command, names []string) error {
			m, cache, err := c.find(names)
			if err != nil {
				return err
			}
			views, ready := []weightView{}, true
			for i := range m.Weights {
				s, err := cache.StatusOf(&m.Weights[i])
				if err != nil {
					return process.Failed(weightsError(&weights.Error{Name: s.Name, Line: m.Weights[i].Line, Err: err}))
				}
				view := weightView{Name: s.Name, Target: s.Target, Status: s.State, FileCount: len(s.Files)}
				for _, f := range s.Files {
					view.Size += max(f.Size, 0)
				}
				ready = ready && s.State == weights.Ready
				views = append(views, view)
			}
			if err := printWeights(views, asJSON); err != nil {
				return process.Failed(err)
			}
			if !ready {
				return process.ExitWith(process.ExitFailure)
			}
			return nil
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

func printWeights(views []weightView, asJSON bool) error {
	if asJSON {
		return inputs.PrintValue(os.Stdout, map[string]any{"weights": views})
	}
	if len(views) == 0 {
		_, err := fmt.Printf("%s has no weights that are fetched\n", model.CogFile)
		return err
	}
	t := newTable(os.Stdout)
	t.row("NAME", "STATUS", "FILES", "SIZE", "TARGET")
	for _, v := range views {
		files, size := "", ""
		if v.FileCount > 0 {
			files, size = strconv.Itoa(v.FileCount), sizeText(v.Size)
		}
		t.row(v.Name, string(v.Status), files, size, safe(v.Target))
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
			m, cache, err := c.find(names)
			if err != nil {
				return err
			}
			return process.Failed(verifyWeights(m, cache))
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
