package cli

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pinion/cmd/pinion/internal/image"
	"pinion/cmd/pinion/internal/model"
	"pinion/pyembed/locate"
)

type doctorReport struct {
	Problems    []model.Problem `json:"problems"`    // the model cannot be served or built as it is
	Differences []model.Problem `json:"differences"` // it can, and behaves differently
}

// examine checks the folder of a model. python reads the source; if it is nil, the source is not read.
func examine(dir string, python *locate.Python) (*doctorReport, error) {
	r := &doctorReport{Problems: []model.Problem{}, Differences: []model.Problem{}}
	build, file := model.ReadBuild(dir)
	plan, problems := image.New(dir, image.Options{})
	r.Problems = append(r.Problems, problems...)
	if plan != nil {
		r.Differences = append(r.Differences, plan.Notes...)
	}
	r.settings(build, file)
	packageName := regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*`)
	var packages []string
	for _, requirement := range image.Requirements(dir, build) {
		name := packageName.FindString(requirement.Value)
		packages = append(packages, name)
		if n := strings.ToLower(name); n == "cog" || n == "coglet" {
			r.differ(requirement.File, requirement.Line,
				name+" is among the packages: the server brings its own, which is imported first", "remove it")
		}
	}
	if python != nil {
		if err := r.source(dir, packages, python); err != nil {
			return nil, err
		}
	}
	slices.SortStableFunc(r.Differences,
		func(a, b model.Problem) int { return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line) })
	return r, nil
}

// source checks the Python files: what keeps the predictor from being read keeps the model from being served and built.
func (r *doctorReport) source(dir string, packages []string, python *locate.Python) error {
	m, err := model.Find(dir, "", os.Getenv)
	switch {
	case err == nil:
		reading, err := model.ReadSource(m, python, model.StaticReader())
		if err != nil {
			return err
		}
		r.Problems = append(r.Problems, reading.Problems...)
	case len(r.Problems) == 0:
		r.Problems = append(r.Problems, model.Problem{What: err.Error()})
	}
	found, err := model.ReadDifferences(dir, packages, python)
	for _, d := range found {
		switch {
		case d.Unreadable && m != nil && (refersTo(m.Ref, d.File) || refersTo(m.Train, d.File)):
			d.Fix = "fix it, for the model is in this file"
			r.Problems = append(r.Problems, d.Problem)
		default:
			r.Differences = append(r.Differences, d.Problem)
		}
	}
	return err
}

// refersTo reports whether a reference such as run.py:Runner is to that file.
func refersTo(ref, file string) bool {
	of, _, _ := strings.Cut(ref, ":")
	return of != "" && filepath.Clean(of) == file
}

func (r *doctorReport) differ(file string, line int, what, fix string) {
	r.Differences = append(r.Differences, model.Problem{File: file, Line: line, What: what, Fix: fix})
}

// settings reports the keys of cog.yaml that have another effect here, or none.
func (r *doctorReport) settings(b *model.Build, file *model.CogYAMLReport) {
	for _, key := range []struct{ name, why string }{
		{"fast", "all images are built the same way"},
		{"cog_runtime", "the image always has Pinion as its server"},
		{"sdk_version", "the server brings its cog package, which has the interface of Cog 0.23"},
	} {
		if line := file.KeyLine(key.name); line > 0 {
			r.differ(model.CogFile, line, fmt.Sprintf("build.%s has no effect: %s", key.name, key.why),
				"leave it for Cog, or remove it")
		}
	}
	compiler := regexp.MustCompile(`(?m)(^|[;&|(])\s*(\S*/)?(nvcc|gcc|g\+\+|cc|make|cmake|ninja)(\s|$)`)
	cogCommand := regexp.MustCompile(`\bcog (predict|run|serve|build)\b|-m cog\b`)
	hasCompiler := slices.ContainsFunc(b.SystemPackages, func(t model.Text) bool {
		return strings.Contains(t.Value, "gcc") || strings.Contains(t.Value, "build-essential") ||
			strings.Contains(t.Value, "clang")
	})
	for _, step := range slices.Concat(b.PreInstall, b.Run) {
		if cogCommand.MatchString(step.Command) {
			r.differ(model.CogFile, step.Line, "this command runs Cog, which the image does not have",
				"run pinion in a later Dockerfile, or remove the command")
		}
		if compiler.MatchString(step.Command) && !hasCompiler {
			r.differ(model.CogFile, step.Line, "this command compiles, and the image has no compiler: Cog's GPU images have one",
				"add build-essential to build.system_packages; for nvcc choose a -devel image by --base")
		}
	}
	if line := file.KeyLine("system_packages"); line > 0 && len(b.SystemPackages) > 0 {
		r.differ(model.CogFile, line, "packages that these only recommend are not installed; Cog installs them too",
			"list those that the model needs")
	}
}
