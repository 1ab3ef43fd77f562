package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"pinion/cmd/pinion/internal/image"
	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
)

func newBuild() *cobra.Command {
	b := &build{}
	cmd := &cobra.Command{
		Use:   "build [DIR] [flags] [-- OPTION...]",
		Short: "Build the model's image with docker, podman or buildah",
		Long: `Build an image of the model in DIR (default: the current folder) from the Dockerfile that 'pinion dockerfile' prints,
with the first of docker, podman and buildah that works here. The image has this very binary. What follows -- goes to
the builder as it is, for example --pull.`,
		Example: `  pinion build -t ocr
  pinion build ./ocr -t registry.example.com/ocr:1.2 --builder podman
  pinion build -t ocr -- --pull`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args = args[:dash]
			}
			return oneFolder(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args, b.more = args[:dash], args[dash:]
			}
			return b.run(folderOf(args))
		},
	}
	f := cmd.Flags()
	b.bindFlags(f)
	b.cog.bindFlags(f)
	f.StringArrayVarP(&b.tags, "tag", "t", nil, "the image's name, may be repeated (default: image of cog.yaml)")
	usertext.Settings{{
		To: &b.builder, Name: "builder", Variable: usertext.NoVariable, Words: image.BuilderNames(),
		Help: "docker, podman or buildah", Default: "the first that works",
	}}.Bind(f)
	f.StringArrayVar(&b.args, "build-arg", nil, "NAME=value of an ARG: BASE, UV, or one of a proxy; may be repeated")
	f.StringArrayVar(&b.secrets, "secret", nil,
		"id=NAME,src=FILE for mounts of cog.yaml's commands; uv.toml configures uv; may be repeated")
	f.BoolVar(&b.noCache, "no-cache", false, "build every layer anew")
	return cmd
}

type build struct {
	imageFlags
	cog                       cogBuildFlags
	tags, args, secrets, more []string
	builder                   string
	noCache                   bool
}

func (b *build) run(dir string) error {
	if err := b.cog.check(dir); err != nil {
		return process.Misused(err)
	}
	program, err := image.FindBuilder(b.builder)
	if err != nil {
		return process.Misused(err)
	}
	plan, err := b.plan(dir)
	if err != nil {
		return err
	}
	tags := b.tags
	if len(tags) == 0 && plan.Image() != "" {
		tags = []string{plan.Image()}
	}
	if len(tags) == 0 {
		return process.Misused(errors.New("the image has no name: give -t NAME, or write image: NAME into cog.yaml"))
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := b.build(ctx, program, plan, tags); err != nil {
		return process.Failed(err)
	}
	gpu := ""
	if plan.GPU() {
		gpu = " --gpus all"
	}
	fmt.Fprintf(os.Stderr, "built %s with %s; run it with\n    %s run%s -p 127.0.0.1:5000:5000 %s\n",
		strings.Join(tags, ", "), program.Name, strings.Replace(program.Name, "buildah", "podman", 1), gpu, tags[0])
	return nil
}

// build makes the Dockerfile and what it needs in its own folder, and builds it.
func (b *build) build(ctx context.Context, program *image.Builder, plan *image.Plan, tags []string) error {
	place, err := os.MkdirTemp("", "pinion-build-")
	if err != nil {
		return fmt.Errorf("make a folder for the build: %w", err)
	}
	defer os.RemoveAll(place)
	file := filepath.Join(place, "Dockerfile")
	if err := plan.WriteFiles(file); err != nil {
		return err
	}
	own := filepath.Join(place, "pinion")
	if err := process.CopyBinary(filepath.Join(own, "usr/local/bin")); err != nil {
		return err
	}
	contexts := [][2]string{{"pinion", own}}
	if plan.LocalWeights() {
		contexts = append(contexts, [2]string{"weights", plan.Root()})
	}
	return program.Build(ctx, image.Build{
		Dockerfile: file, Context: plan.Root(), Contexts: contexts, Tags: tags, Args: b.args, Secrets: b.secrets,
		NoCache: b.noCache,
		More:    append(b.cog.options(program), b.more...),
	})
}
