package dockerfile

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pinion/cmd/pinion/internal/model"
)

// Options are what a Dockerfile depends on beside the folder.
type Options struct {
	Context string          // the folder that the builder is given, which holds the model's; "": the model's
	Base    string          // the base image; "": chosen by cog.yaml
	Title   string          // of the model
	Ref     string          // "run.py:Runner", for a folder whose cog.yaml does not say it
	Schema  json.RawMessage // the model's OpenAPI document; nil: unknown here
	// MakeSchema: the build makes the document from the source, and fails where it cannot.
	MakeSchema           bool
	Version, CogVersion  string // of pinion, and of the cog interface
	Revision, Repository string // of the source in git; "": unknown
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
	add := func(line int, what, mend string) {
		problems = append(problems, model.Problem{File: model.CogFile, Line: line, What: what, Mend: mend})
	}
	if o.Context != "" {
		below, err := filepath.Rel(o.Context, dir)
		if err != nil || below == ".." || strings.HasPrefix(below, "../") {
			return nil, append(problems, model.Problem{What: fmt.Sprintf("the context %s does not hold the model's folder %s", o.Context, dir), Mend: "name a folder above it"})
		}
		p.root, p.below = o.Context, filepath.ToSlash(below)
	}
	p.choosePython(add)
	p.chooseBase(add)
	problems = append(problems, p.readRequirements()...)
	p.unnamedRequirements()
	p.noteRenamed()
	p.checkCommands(add)
	p.checkWeights(add)
	if len(problems) > 0 {
		slices.SortStableFunc(problems, func(a, b model.Problem) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
		return nil, problems
	}
	return p, nil
}

type reporter = func(line int, what, mend string)

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
		add(p.build.Python.Line, fmt.Sprintf("build.python_version: Python %s is too new: %s", p.python, served), fmt.Sprintf(`write "3.%d"`, newestPython))
	}
}

// unnamedRequirements notes a file that is likely meant to be installed.
func (p *Plan) unnamedRequirements() {
	const usual = "requirements.txt"
	if _, err := os.Stat(filepath.Join(p.root, p.below, usual)); err != nil || p.build.Requirements.Value != "" || len(p.build.Packages) > 0 {
		return
	}
	p.Notes = append(p.Notes, model.Problem{File: usual, What: "cog.yaml does not name it, so the image does not have its packages",
		Mend: "write python_requirements: " + usual + " below build: in cog.yaml"})
}

// checkCommands looks at mounts, which are easily left half.
func (p *Plan) checkCommands(add reporter) {
	for _, step := range slices.Concat(p.build.PreInstall, p.build.Run) {
		for _, m := range step.Mounts {
			switch {
			case m.Type == "":
				add(m.Line, "build.run.mounts: it has no type", "write type: secret, or type: cache")
			case m.Target == "":
				add(m.Line, "build.run.mounts: it has no target", "write target: and the path where the command finds it")
			case !path.IsAbs(m.Target):
				add(m.Line, fmt.Sprintf("build.run.mounts: the target %q is not absolute", m.Target), "begin it with /")
			case m.Type == "secret" && m.ID == "":
				add(m.Line, "build.run.mounts: the secret has no id", "write id: and the name that `pinion build --secret id=NAME,src=FILE` gives it")
			case strings.ContainsAny(m.ID+m.Target, ", \t\n"):
				add(m.Line, "build.run.mounts: an id and a target hold no comma and no space", "choose other names")
			}
		}
	}
}

// checkWeights looks for local weights, and notes which ones the image does not have.
func (p *Plan) checkWeights(add reporter) {
	for _, w := range p.build.Weights {
		switch place, local := p.localWeight(w); {
		case w.Fetched():
			what := cmp.Or(w.Name, w.Source)
			p.Notes = append(p.Notes, model.Problem{File: model.CogFile, Line: w.Line, What: fmt.Sprintf("weights: %s is not part of the image", what),
				Mend: fmt.Sprintf("mount a volume at %s that holds %s, or fetch it in setup", cmp.Or(w.Target, "the path that the model reads"), w.Source)})
		case !local:
			add(w.Line, "weights: an entry has neither source nor target", "write target: and the path where the model reads them")
		default:
			if _, err := os.Stat(filepath.Join(p.root, filepath.FromSlash(place))); err != nil {
				add(w.Line, fmt.Sprintf("weights: there is no %s", place), "put the weights there, or write source: with the URL that they come from")
			}
		}
	}
}

// localWeight is where weights that are part of the image are, below the context.
func (p *Plan) localWeight(w model.Weight) (place string, is bool) {
	place = strings.TrimPrefix(cmp.Or(w.Source, p.inFolder(w.Target)), "file://")
	if w.Fetched() || place == "" {
		return "", false
	}
	return path.Join(p.below, strings.TrimPrefix(place, p.folder()+"/")), true
}

// inFolder is a path of the image below the model's folder, relative to it; "" for another.
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

// LocalWeights tells whether the builder needs the context `weights`, which is the same folder as the main one.
func (p *Plan) LocalWeights() bool {
	return slices.ContainsFunc(p.build.Weights, func(w model.Weight) bool { _, local := p.localWeight(w); return local })
}

// Root is the folder that the builder is given.
func (p *Plan) Root() string { return p.root }

// GPU tells whether the image is for machines with one.
func (p *Plan) GPU() bool { return p.build.GPU }

// Image is the name that cog.yaml gives to the image, or "".
func (p *Plan) Image() string { return p.build.Image }

// folder is the model's folder in the image.
func (p *Plan) folder() string { return path.Join("/src", p.below) }
