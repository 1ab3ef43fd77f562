package cli

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/internal/version"
	"pinion/cmd/pinion/internal/image"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/process"
)

func newDockerfile() *cobra.Command {
	var s imageFlags
	var output string
	cmd := &cobra.Command{
		Use:   "dockerfile [DIR]",
		Short: "Print the Dockerfile of the model's image",
		Long: `Print a Dockerfile for the model in DIR (default: the current folder), as its cog.yaml says: base image, Python,
system packages, packages, commands, environment, weights, code. The image serves the model on port 5000, as a user
without rights. Mistakes in cog.yaml are printed with their place, and the exit code is then 1.`,
		Example: `  pinion dockerfile
  pinion dockerfile ./ocr -o Dockerfile
  pinion dockerfile --base debian:13-slim`,
		Args: oneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := s.plan(folderOf(args))
			if err != nil {
				return err
			}
			if output == "" || output == "-" {
				_, err = os.Stdout.WriteString(plan.Text())
				return process.Failed(err)
			}
			return process.Failed(plan.WriteFiles(output))
		},
	}
	s.bindFlags(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "",
		"write to this file, and the .dockerignore to FILE.dockerignore (default: print)")
	return cmd
}

// imageFlags are the flags of the commands that make an image.
type imageFlags struct {
	model.Flags
	base, context string
	noSchema      bool
}

func (s *imageFlags) bindFlags(f *pflag.FlagSet) {
	s.Flags.BindFlags(f)
	f.StringVar(&s.base, "base", "", "the base image, of Debian or Ubuntu (default: chosen by cog.yaml)")
	f.StringVar(&s.context, "context", "", "the folder that the builder is given, which holds DIR (default: DIR)")
	f.BoolVar(&s.noSchema, "no-schema", false, "leave the OpenAPI document out: the server makes it when it starts")
}

// plan returns the image of the model in a folder.
func (s *imageFlags) plan(dir string) (*image.Plan, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, process.Failed(err)
	}
	o := image.Options{Base: s.base, Ref: s.Predictor, Version: version.Pinion, CogVersion: version.Cog}
	if s.context != "" {
		if o.Context, err = filepath.Abs(s.context); err != nil {
			return nil, process.Failed(err)
		}
	}
	if err := model.CheckFolder(abs); err != nil {
		return nil, process.Misused(err)
	}
	// First, because its messages have line numbers.
	if _, problems := image.New(abs, o); len(problems) > 0 {
		return nil, process.Failed(image.ProblemsError(problems))
	}
	m, err := findModel(&s.Flags, abs)
	if err != nil {
		return nil, err
	}
	o.Title = m.Title()
	if !s.noSchema {
		if err := o.FindSchema(m, s.Locate(m.Dir), os.Stderr); err != nil {
			return nil, process.Failed(err)
		}
	}
	o.FindGit(abs)
	plan, problems := image.New(abs, o)
	if plan == nil {
		return nil, process.Failed(image.ProblemsError(problems))
	}
	for _, note := range model.Shown(plan.Notes) {
		fmt.Fprintln(os.Stderr, "note: "+note.String())
	}
	return plan, nil
}
