package model

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"time"

	"pinion/cmd/pinion/internal/process"
	"pinion/cmd/pinion/internal/usertext"
	"pinion/pyembed/locate"
	"pinion/runtime/gpu"
)

// machineLimit is how long the programs that list what this machine has may take.
const machineLimit = time.Minute

// CheckMachine warns of what build: asks for and this machine does not have: an image would have it, and a model that
// is served without it fails.
func (c *CogYAMLReport) CheckMachine(python *locate.Python) error {
	build := c.root.Get("build")
	if build == nil || build.Kind != usertext.Mapping {
		return nil
	}
	c.gpu(build.Get("gpu"), gpu.Visible())
	if n := build.Get("system_packages"); n != nil && len(n.Items) > 0 {
		debs, err := installedDebs()
		if err != nil {
			return err
		}
		c.systemPackages(n, debs)
	}
	if python == nil {
		return nil
	}
	c.pythonVersion(build.Get("python_version"), python)
	return c.pythonPackages(build, python)
}

func (c *CogYAMLReport) gpu(n *usertext.Node, visible []string) {
	if isTrue(n) && len(visible) == 0 {
		c.warn(n.Line, "build.gpu is true, but no GPU is visible here",
			"check the driver and CUDA_VISIBLE_DEVICES, or serve where there is one")
	}
}

func (c *CogYAMLReport) pythonVersion(n *usertext.Node, python *locate.Python) {
	if n == nil || python.Version == "" || !pythonVersion().MatchString(strings.TrimSpace(n.Text)) {
		return
	}
	wanted, has := strings.Split(strings.TrimSpace(n.Text), "."),
		strings.Split(strings.TrimSuffix(python.Version, "t"), ".")
	for i := range min(len(wanted), len(has)) {
		if wanted[i] != has[i] {
			c.warn(n.Line, fmt.Sprintf("build.python_version is %s, but the interpreter is Python %s (%s)",
				strings.TrimSpace(n.Text), python.Version, python.Executable),
				"choose another with --python, or write the version into cog.yaml that the model is served with")
			return
		}
	}
}

// installedDebs returns the Debian packages of this machine, including those that others provide; nil if dpkg cannot
// tell.
func installedDebs() (map[string]bool, error) {
	cmd := exec.Command("dpkg-query", "--show", "--showformat", "${Package}\t${db:Status-Status}\t${Provides}\n")
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := process.Output(cmd, machineLimit)
	if errors.Is(err, process.ErrInterrupted) {
		return nil, err
	}
	if err != nil {
		return nil, nil // another distribution
	}
	return readDebs(string(out)), nil
}

// readDebs reads what dpkg-query writes: a line of a name, a status, and the names with versions that it provides.
func readDebs(list string) map[string]bool {
	debs := map[string]bool{}
	for line := range strings.Lines(list) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(fields) != 3 || fields[1] != "installed" {
			continue
		}
		debs[fields[0]] = true
		for provided := range strings.SplitSeq(fields[2], ",") {
			name, _, _ := strings.Cut(strings.TrimSpace(provided), " ")
			debs[name] = true
		}
	}
	return debs
}

// debName is the name at the beginning of what apt-get install takes.
var debName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9][a-z0-9.+-]+$`) })

func (c *CogYAMLReport) systemPackages(n *usertext.Node, installed map[string]bool) {
	if len(installed) == 0 {
		return
	}
	for _, item := range n.Items {
		name := strings.TrimSpace(item.Text)
		if i := strings.IndexAny(name, "=:/"); i >= 0 {
			name = name[:i] // of a version, an architecture, a release
		}
		if debName().MatchString(name) && !installed[name] {
			c.warn(item.Line, fmt.Sprintf("build.system_packages: %s is not installed", name), "apt-get install "+name)
		}
	}
}

// pythonPackages asks the interpreter for what python_packages and python_requirements name.
func (c *CogYAMLReport) pythonPackages(build *usertext.Node, python *locate.Python) error {
	var packages []string
	var lines []int
	if list := build.Get("python_packages"); list != nil {
		for _, item := range list.Items {
			packages, lines = append(packages, item.Text), append(lines, item.Line)
		}
	}
	requirements := ""
	if file := build.Get("python_requirements"); file != nil {
		requirements = file.Text
	}
	if len(packages) == 0 && requirements == "" {
		return nil
	}
	var found []Problem
	request := map[string]any{"root": c.dir, "requirements": requirements, "packages": fitting(packages)}
	if err := runSDK(python, "model.packages", c.dir, os.Environ(), request, machineLimit, &found); err != nil {
		return err
	}
	for _, p := range found {
		if p.File == "" {
			p.File, p.Line, p.What = CogFile, lines[p.Line], "build.python_packages: "+p.What
		}
		c.Warnings = append(c.Warnings, p)
	}
	return nil
}
