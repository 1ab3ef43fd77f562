package image

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"pinion/cmd/pinion/internal/model"
)

// Options is what a Dockerfile depends on besides the folder.
type Options struct {
	Context string          // the folder that the builder is given, which holds the model's; "" means the model's
	Base    string          // the base image; "" means chosen by cog.yaml
	Title   string          // of the model
	Ref     string          // "run.py:Runner", for a folder whose cog.yaml does not say it
	Schema  json.RawMessage // the model's OpenAPI document; nil means unknown here
	// MakeSchema means that the build makes the document from the source, and fails where it cannot.
	MakeSchema           bool
	Version, CogVersion  string // of pinion, and of the cog interface
	Revision, Repository string // of the source in git; "" means unknown
}

// Plan is a model's image.
type Plan struct {
	Options
	build *model.Build
	base  base
	// below is the model's folder below the context: ".", or "models/a".
	below        string
	root         string   // of the context
	python       string   // "3.12" or "3.12.1"
	requirements []string // files below the context that the packages are installed from
	weights      []weightCopy
	weightPlaces []string // below the context: what the code's layer leaves out
	Notes        []model.Problem
}

// defaultPython is the version for a cog.yaml that names none, as in Cog.
const defaultPython = "3.13"

// Oldest and newest minor version of CPython that the server embeds.
const (
	oldestPython = 10
	newestPython = 15
)

// New plans the image of the model in dir. There is no plan where there are problems.
func New(dir string, o Options) (*Plan, []model.Problem) {
	build, report := model.ReadBuild(dir)
	p := &Plan{Options: o, build: build, below: ".", root: dir, Notes: report.Warnings}
	problems := report.Problems
	add := func(line int, what, fix string) {
		problems = append(problems, model.Problem{File: model.CogFile, Line: line, What: what, Fix: fix})
	}
	if o.Context != "" {
		below, err := filepath.Rel(o.Context, dir)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			return nil, append(problems,
				model.Problem{
					What: fmt.Sprintf("the context %s does not hold the model's folder %s", o.Context, dir),
					Fix:  "name a folder above it",
				})
		}
		p.root, p.below = o.Context, filepath.ToSlash(below)
	}
	p.choosePython(add)
	p.chooseBase(add)
	problems = append(problems, p.readRequirements()...)
	p.unnamedRequirements()
	p.noteRenamed()
	p.checkCommands(add)
	p.readWeights(add)
	problems = append(problems, p.checkNames()...)
	if len(problems) > 0 {
		slices.SortStableFunc(problems,
			func(a, b model.Problem) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
		return nil, problems
	}
	return p, nil
}

// checkNames refuses names of files and the flags' values that would begin lines of their own.
func (p *Plan) checkNames() (problems []model.Problem) {
	add := func(what string) {
		problems = append(problems, model.Problem{
			What: what + " has a line break or another control character, which an image cannot be built with",
			Fix:  "choose another name",
		})
	}
	names := append([]string{p.below}, p.requirements...)
	for _, w := range p.weights {
		names = append(names, w.from)
	}
	for _, name := range names {
		if strings.ContainsFunc(name, unicode.IsControl) {
			add(fmt.Sprintf("the file or folder %.200q", name))
		}
	}
	if strings.ContainsFunc(p.Ref, unicode.IsControl) {
		add(fmt.Sprintf("--predictor %.200q", p.Ref))
	}
	if strings.ContainsFunc(p.Base, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) }) {
		problems = append(problems, model.Problem{
			What: fmt.Sprintf("--base %.200q: an image's name has no space", p.Base),
			Fix:  "name one image, as python:3.12-slim",
		})
	}
	return problems
}

type reporter = func(line int, what, fix string)

func (p *Plan) choosePython(add reporter) {
	p.python = cmp.Or(p.build.Python.Value, defaultPython)
	var minor int
	if n, _ := fmt.Sscanf(p.python, "3.%d", &minor); n != 1 {
		return // ReadBuild has said so
	}
	served := fmt.Sprintf("Pinion serves 3.%d to 3.%d", oldestPython, newestPython)
	switch {
	case minor < oldestPython:
		add(p.build.Python.Line, fmt.Sprintf("build.python_version: Python %s is too old: %s", p.python, served),
			fmt.Sprintf(`write "3.%d", and newer versions of packages that do not support it`, oldestPython))
	case minor > newestPython:
		add(p.build.Python.Line, fmt.Sprintf("build.python_version: Python %s is too new: %s", p.python, served),
			fmt.Sprintf(`write "3.%d"`, newestPython))
	}
}

// unnamedRequirements notes a file that is likely meant to be installed.
func (p *Plan) unnamedRequirements() {
	const usual = "requirements.txt"
	if _, err := os.Stat(filepath.Join(p.root, p.below, usual)); err != nil || p.build.Requirements.Value != "" ||
		len(p.build.Packages) > 0 {
		return
	}
	p.Notes = append(p.Notes, model.Problem{
		File: usual,
		What: "cog.yaml does not name it, so the image does not have its packages",
		Fix:  "write python_requirements: " + usual + " below build: in cog.yaml",
	})
}

// checkCommands checks flags and mounts, which are easily left incomplete.
func (p *Plan) checkCommands(add reporter) {
	for _, step := range slices.Concat(p.build.PreInstall, p.build.Run) {
		if _, text := cutFlags(step.Command); strings.HasPrefix(text, "--") {
			word, _, _ := strings.Cut(text, " ")
			add(step.Line, fmt.Sprintf("build.run: %q is no flag of RUN with a command behind it", word),
				"write --mount=, --network=, --security= or --device= with a value, and then a command")
		}
		for _, m := range step.Mounts {
			switch {
			case m.Type == "":
				add(m.Line, "build.run.mounts: missing type", "write type: secret, or type: cache")
			case m.Target == "":
				add(m.Line, "build.run.mounts: missing target", "write target: and the path where the command finds it")
			case !path.IsAbs(m.Target):
				add(m.Line, fmt.Sprintf("build.run.mounts: invalid target %q: must be an absolute path", m.Target),
					"begin it with /")
			case m.Type == "secret" && m.ID == "":
				add(m.Line, "build.run.mounts: missing id of the secret",
					"write id: and the name that `pinion build --secret id=NAME,src=FILE` gives it")
			case strings.ContainsAny(m.ID+m.Target, ", \t\"'\\"):
				add(m.Line, "build.run.mounts: an id and a target must have no comma, space, quote or backslash",
					"choose other names")
			}
		}
	}
}

// inFolder returns a path of the image below the model's folder, relative to it, or "" for another.
func (p *Plan) inFolder(target string) string {
	if !path.IsAbs(target) {
		return target
	}
	rest, is := strings.CutPrefix(path.Clean(target), p.folder()+"/")
	if !is {
		return ""
	}
	return rest
}

// Root returns the folder that the builder is given.
func (p *Plan) Root() string { return p.root }

// GPU reports whether the image is for machines with one.
func (p *Plan) GPU() bool { return p.build.GPU }

// Image returns the name that cog.yaml gives to the image, or "".
func (p *Plan) Image() string { return p.build.Image }

// folder returns the model's folder in the image.
func (p *Plan) folder() string { return path.Join("/src", p.below) }
