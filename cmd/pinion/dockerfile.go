package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/contain"
	"pinion/cmd/pinion/internal/dockerfile"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usage"
	"pinion/pyembed/locate"
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
		Args: usage.OneFolder,
		RunE: func(cmd *cobra.Command, args []string) error {
			plan, err := s.plan(folderOf(args))
			if err != nil {
				return err
			}
			if output == "" || output == "-" {
				_, err = os.Stdout.WriteString(plan.Text())
				return failed(err)
			}
			return failed(writeDockerfile(plan, output))
		},
	}
	s.bindFlags(cmd.Flags())
	cmd.Flags().StringVarP(&output, "output", "o", "", "write to this file, and the .dockerignore to FILE.dockerignore (default: print)")
	return cmd
}

// writeDockerfile writes a Dockerfile and its ignore file, which docker finds by its name.
func writeDockerfile(plan *dockerfile.Plan, file string) error {
	if err := os.WriteFile(file, []byte(plan.Text()), 0o644); err != nil {
		return fmt.Errorf("write Dockerfile: %w", err)
	}
	if err := os.WriteFile(file+".dockerignore", []byte(plan.Ignore()), 0o644); err != nil {
		return fmt.Errorf("write .dockerignore: %w", err)
	}
	return nil
}

// imageFlags are the flags of the commands that make an image.
type imageFlags struct {
	modelFlags
	base, context string
	noSchema      bool
}

func (s *imageFlags) bindFlags(f *pflag.FlagSet) {
	s.modelFlags.bindFlags(f)
	f.StringVar(&s.base, "base", "", "the base image, of Debian or Ubuntu (default: chosen by cog.yaml)")
	f.StringVar(&s.context, "context", "", "the folder that the builder is given, which holds DIR (default: DIR)")
	f.BoolVar(&s.noSchema, "no-schema", false, "leave the OpenAPI document out: the server makes it when it starts")
}

// plan is the image of the model in a folder.
func (s *imageFlags) plan(dir string) (*dockerfile.Plan, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, failed(err)
	}
	o := dockerfile.Options{Base: s.base, Ref: s.predictor, Version: version, CogVersion: cogVersion}
	if s.context != "" {
		if o.Context, err = filepath.Abs(s.context); err != nil {
			return nil, failed(err)
		}
	}
	// First, for its messages have lines.
	if _, problems := dockerfile.New(abs, o); len(problems) > 0 {
		return nil, problemsError(problems)
	}
	m, err := s.model(abs)
	if err != nil {
		return nil, err
	}
	o.Title = m.Title()
	if !s.noSchema {
		if err := s.schema(m, &o); err != nil {
			return nil, err
		}
	}
	o.Revision, o.Repository = inGit(abs)
	plan, problems := dockerfile.New(abs, o)
	if plan == nil {
		return nil, problemsError(problems)
	}
	for _, note := range plan.Notes {
		fmt.Fprintln(os.Stderr, "note: "+note.String())
	}
	return plan, nil
}

// schema finds the OpenAPI document, as far as this machine can tell it without importing the model.
func (s *imageFlags) schema(m *model.Model, o *dockerfile.Options) error {
	stored, err := model.ReadStored(m.Dir)
	if err != nil {
		return failed(err)
	}
	python, noPython := locate.Interpreter(s.options(m))
	switch {
	case stored != nil:
		o.Schema = stored
		return nil
	case noPython != nil:
		o.MakeSchema = true
		fmt.Fprintf(os.Stderr, "note: no Python here reads the model's inputs, so the image has no label run.cog.openapi_schema\n    %v\n", noPython)
		return nil
	}
	r, err := model.ReadSource(m, python, model.StaticReader())
	if err != nil {
		return failed(err)
	}
	if len(r.Problems) > 0 {
		return problemsError(r.Problems)
	}
	if r.Document == nil {
		fmt.Fprintf(os.Stderr, "note: the source alone does not tell the model's inputs, so the image has no label run.cog.openapi_schema\n    %s\n",
			strings.Join(r.Refusals, "\n    "))
		return nil
	}
	o.MakeSchema, o.Schema = true, r.Document
	return nil
}

// problemsError is mistakes in a model's folder, a line or two each.
func problemsError(problems []model.Problem) error {
	return failed(&model.ProblemsError{Reading: &model.Reading{Problems: problems}})
}

var urlCredentials = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(https?://)[^/@]*@`) })

// inGit is the commit of a folder and where its repository is kept; "" where git does not know.
func inGit(dir string) (revision, repository string) {
	ask := func(args ...string) string {
		out, err := contain.Output(exec.Command("git", append([]string{"-C", dir}, args...)...), gitLimit)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(out))
	}
	revision = ask("rev-parse", "--verify", "--quiet", "HEAD")
	if revision == "" {
		return "", ""
	}
	if ask("status", "--porcelain", "--untracked-files=no", "--", ".") != "" {
		revision += "-dirty"
	}
	return revision, urlCredentials().ReplaceAllString(ask("remote", "get-url", "origin"), "$1")
}
