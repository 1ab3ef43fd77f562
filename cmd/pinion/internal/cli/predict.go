package cli

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/model/inputs"
	"pinion/cmd/pinion/internal/oneshot"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/terminal"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/pyembed/locate"
)

// predictCommand is 'pinion predict' and 'pinion train': one prediction, or training.
type predictCommand struct {
	asker
	flags model.Flags
	url   string
}

func newPredict() *cobra.Command {
	a := &predictCommand{}
	cmd := &cobra.Command{
		Use:     "predict [DIR]",
		Aliases: []string{"run"},
		Short:   "Make one prediction, without a server",
		Long: `Set the model in DIR (default: the current folder) up, make one prediction, and print its output.

A text is printed as it is, anything else as JSON; files are written to output.<extension> in the current folder.
What the model prints goes to stderr.`,
		Example: "  pinion predict -i prompt=\"a cat\" -i steps=20\n  pinion predict -i image=@photo.jpg -o mask.png\n" +
			"  echo '{\"prompt\": \"a cat\"}' | pinion predict --json -\n" +
			"  pinion predict --url http://localhost:5000 -i prompt=\"a cat\"",
	}
	bindFunction(cmd, &a.Function)
	return a.complete(cmd)
}

func newTrain() *cobra.Command {
	a := &predictCommand{asker: asker{Train: true}}
	cmd := &cobra.Command{
		Use:   "train [DIR]",
		Short: "Run the model's train function once, without a server",
		Long:  "Run the train function of the model in DIR (default: the current folder) once, and print its output.",
		Example: "  pinion train -i data=@pictures.zip -i epochs=3\n" +
			"  pinion train -i data=@pictures.zip -o weights.tar\n  pinion train --url http://localhost:5000 -i data=@pictures.zip",
	}
	return a.complete(cmd)
}

func (a *predictCommand) complete(cmd *cobra.Command) *cobra.Command {
	cmd.Args = oneFolder
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		a.Input.IsSet, a.Input.Streams = cmd.Flags().Changed("json"), true
		if err := inputs.CheckFile(a.Output); err != nil {
			return process.Misused(err)
		}
		a.Screen = terminal.NewScreen(os.Stderr)
		defer a.Screen.Hide()
		if a.url != "" {
			if len(args) > 0 {
				return errors.New("--url asks a server, which has its model: leave the folder out")
			}
			return a.remotely()
		}
		return a.locally(folderOf(args))
	}
	a.flags.BindFlags(cmd.Flags())
	a.Input.BindFlags(cmd.Flags())
	cmd.Flags().StringVarP(&a.Output, "output", "o", "", "the `file` to write the output to; - prints that of a file")
	if isCompleting() {
		completeInputs(cmd, &a.flags, a.Train, &a.Function)
	}
	cmd.Flags().StringVar(&a.url, "url", "", "ask the server at this address instead, as http://localhost:5000")
	return cmd
}

// locally makes the prediction in a worker of the model in a folder.
func (a *predictCommand) locally(dir string) error {
	m, err := findModel(&a.flags, dir)
	if err != nil {
		return err
	}
	if err := requireFunction(m, a.Train); err != nil {
		return err
	}
	python, err := locate.Find(a.flags.Locate(m.Dir))
	if err != nil {
		return process.Misused(err)
	}
	mode := "predict"
	if a.Train {
		mode = "train"
	}
	return process.Failed(a.Locally(m, python, func() (*oneshot.Runner, error) {
		return newLocalRunner(m, python, mode, false, terminal.NewModelLog(a.Screen))
	}))
}

// remotely makes the prediction at the server of --url.
func (a *predictCommand) remotely() error {
	if !usertext.IsHTTP(a.url) {
		return fmt.Errorf("--url %q: must be an http or https URL", a.url)
	}
	client := clientOf(a.url)
	if a.Function != "" {
		client.Base += "/functions/" + url.PathEscape(a.Function)
	}
	return process.Failed(a.Remotely(client))
}

// clientOf returns the client of a server, with the token that the environment has.
func clientOf(url string) *oneshot.Client {
	return &oneshot.Client{
		Base: strings.TrimRight(url, "/"), Token: os.Getenv("PINION_AUTH_TOKEN"), UserAgent: "pinion/" + version.Pinion,
	}
}
