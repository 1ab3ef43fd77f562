package image

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"pinion/cmd/pinion/internal/process"
)

// answerLimit is how long a program may take to say whether it works.
const answerLimit = 15 * time.Second

// BuilderNames returns the programs, in the order in which they are tried.
func BuilderNames() []string { return []string{"docker", "podman", "buildah"} }

// BuilderOptions returns the options of the programs that people type most, without dashes. They pass to the program as
// they are.
func BuilderOptions() []string {
	return []string{
		"add-host", "annotation", "cache-from", "cache-to", "label", "load", "network", "output", "pull",
		"push", "ssh", "target",
	}
}

// probe asks a program whether it can build. docker alone has a daemon, which need not run, and its builder is a
// plugin.
func probe(name string) [][]string {
	if name == "docker" {
		return [][]string{{"version", "--format", "{{.Server.Version}}"}, {"buildx", "version"}}
	}
	return [][]string{{"version"}}
}

// Builder is a program that builds images.
type Builder struct{ Name, path string }

// FindBuilder returns the program with a name, or the first that works where the name is empty. The error says of each
// what is wrong.
func FindBuilder(name string) (*Builder, error) {
	names := BuilderNames()
	if name != "" {
		names = []string{name}
	}
	var reasons []string
	for _, name := range names {
		path, err := exec.LookPath(name)
		if err == nil {
			err = answers(path, probe(name))
		} else if errors.Is(err, exec.ErrNotFound) {
			err = errors.New("not on the PATH")
		}
		if err == nil {
			return &Builder{name, path}, nil
		}
		reasons = append(reasons, fmt.Sprintf("\n    %s: %v", name, err))
	}
	return nil, fmt.Errorf("no image builder works here:%s\n    install one of them, or take the output of `pinion dockerfile` to a machine that has one", strings.Join(reasons, ""))
}

func answers(path string, questions [][]string) error {
	for _, question := range questions {
		ctx, cancel := context.WithTimeout(context.Background(), answerLimit)
		out, err := exec.CommandContext(ctx, path, question...).CombinedOutput()
		cancel()
		if err != nil {
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			if last := strings.TrimSpace(lines[len(lines)-1]); last != "" {
				return errors.New(last)
			}
			return err
		}
	}
	return nil
}

// Build is what is to be built.
type Build struct {
	Dockerfile string // a file; its ignore file stands beside it with ".dockerignore" at its end
	Context    string
	Contexts   [][2]string // more folders, by name
	Tags       []string
	Args       []string // NAME=value
	Secrets    []string // id=NAME,src=FILE
	NoCache    bool
	More       []string // options as the program takes them
}

// arguments returns the command's arguments. The format is docker, since the other one has no health check.
func (b *Builder) arguments(o Build) []string {
	args := []string{"build", "--file", o.Dockerfile}
	if b.Name != "docker" { // which finds the ignore file by itself
		args = append(args, "--format", "docker", "--layers", "--ignorefile", o.Dockerfile+".dockerignore")
	}
	for _, c := range o.Contexts {
		args = append(args, "--build-context", c[0]+"="+c[1])
	}
	for _, tag := range o.Tags {
		args = append(args, "--tag", tag)
	}
	for _, arg := range o.Args {
		args = append(args, "--build-arg", arg)
	}
	for _, secret := range o.Secrets {
		args = append(args, "--secret", secret)
	}
	if o.NoCache {
		args = append(args, "--no-cache")
	}
	return append(append(args, o.More...), o.Context)
}

// Build builds, with the program's output on this one's. When ctx ends, the program is interrupted and waited for, and
// the error is process.ErrInterrupted.
func (b *Builder) Build(ctx context.Context, o Build) error {
	cmd := exec.CommandContext(ctx, b.path, b.arguments(o)...)
	cmd.Stdout, cmd.Stderr, cmd.Stdin = os.Stdout, os.Stderr, os.Stdin
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = answerLimit
	err := cmd.Run()
	if ctx.Err() != nil {
		return process.ErrInterrupted
	}
	if err != nil {
		return fmt.Errorf("%s build: %w; what it printed stands above", b.Name, err)
	}
	return nil
}
