package cli

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/pflag"

	"pinion/cmd/pinion/internal/image"
	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usertext"
)

// cogBuildFlags are the options of `cog build` that 'pinion build' has no flag for. Each has its effect here, or is
// refused with what to write instead.
type cogBuildFlags struct {
	file, progress, schema, cuda, platform string
	separateWeights, cogBase               bool
}

func (c *cogBuildFlags) bindFlags(f *pflag.FlagSet) {
	f.StringVarP(&c.file, "file", "f", "", "accepted for cog build's users: only cog.yaml in DIR")
	usertext.Settings{{
		To: &c.progress, Name: "progress", Variable: usertext.NoVariable, Words: []string{"auto", "tty", "plain", "quiet"},
		Help: "how docker shows the build: auto, tty, plain or quiet; podman and buildah know only quiet",
	}}.Bind(f)
	f.StringVar(&c.schema, "openapi-schema", "", "accepted for cog build's users: only .cog/openapi_schema.json in DIR")
	f.StringVar(&c.cuda, "use-cuda-base-image", "auto",
		"accepted for cog build's users: only auto, for cog.yaml and --base choose the image")
	f.StringVar(&c.platform, "platform", "", "the image's platform: only that of this binary, which the image gets")
	f.BoolVar(&c.separateWeights, "separate-weights", false,
		"accepted for cog build's users: weights of cog.yaml have their own layer in every image")
	f.BoolVar(&c.cogBase, "use-cog-base-image", false, "accepted for cog build's users: only false")
}

// check refuses what has no counterpart here.
func (c *cogBuildFlags) check(dir string) error {
	own := "linux/" + runtime.GOARCH
	switch {
	case c.file != "" && !names(c.file, dir, "cog.yaml"):
		return fmt.Errorf("--file %s: a model's file is cog.yaml in its folder: rename it, and give the folder: pinion build DIR", c.file)
	case c.schema != "" && !names(c.schema, dir, model.StoredSchema):
		return fmt.Errorf("--openapi-schema %s: copy the file to %s: the image gets the document from there", c.schema,
			filepath.Join(dir, model.StoredSchema))
	case c.cuda != "auto":
		return fmt.Errorf("--use-cuda-base-image %s: cog.yaml's gpu, cuda and packages decide; for another base give --base IMAGE, "+
			"such as --base python:3.12-slim or one of nvidia/cuda", c.cuda)
	case c.cogBase:
		return errors.New("--use-cog-base-image: Cog's base images hold Cog's own server; leave the option out, or choose a base by --base IMAGE")
	case c.platform != "" && c.platform != own:
		return fmt.Errorf("--platform %s: the image gets this very binary, which is for %s: build on a machine of that processor, with pinion for it", c.platform, own)
	}
	if c.schema != "" {
		if _, err := os.Stat(filepath.Join(dir, model.StoredSchema)); err != nil {
			return fmt.Errorf("--openapi-schema %s: %w", c.schema, err)
		}
	}
	if c.separateWeights {
		fmt.Fprintln(os.Stderr, "note: --separate-weights: weights that cog.yaml lists have their own layer in every image; list others under weights")
	}
	return nil
}

// options returns the options of the program that builds.
func (c *cogBuildFlags) options(program *image.Builder) []string {
	var options []string
	switch {
	case program.Name == "docker" && c.progress != "":
		options = append(options, "--progress", c.progress)
	case c.progress == "quiet": // the others know no other form than plain
		options = append(options, "--quiet")
	}
	if c.platform != "" {
		options = append(options, "--platform", c.platform)
	}
	return options
}

// names reports whether an option names the file of a folder, from the current folder or, as cog build does it, from
// the folder itself.
func names(option, dir, file string) bool {
	want, err := filepath.Abs(filepath.Join(dir, file))
	if err != nil {
		return false
	}
	abs, err := filepath.Abs(option)
	return err == nil && (abs == want || !filepath.IsAbs(option) && filepath.Clean(option) == filepath.Clean(file))
}
