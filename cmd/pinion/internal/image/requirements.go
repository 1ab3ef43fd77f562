package image

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pinion/cmd/pinion/internal/model"
	"pinion/cmd/pinion/internal/usertext"
)

// requirementsDir holds, in the image, what the packages are installed from, in the same places as in the context.
const requirementsDir = "/opt/requirements"

var (
	includeOption  = pattern(`^(?:-r|--requirement|-c|--constraint)[\s=]*(\S+)`)
	findOption     = pattern(`^(?:-f|--find-links)[\s=]*(\S+)`)
	editableOption = pattern(`^(?:-e|--editable)(?:[\s=]|$)`)
	localName      = pattern(`^(?:[A-Za-z0-9._-]+\s*(?:\[[^]]*\])?\s*@\s*)?(?:file:(?://)?)?(\.{1,2}(?:/\S*)?|\S+\.(?:whl|tar\.gz|zip))(?:\s|$|\[)`)
)

// readRequirements finds the files that installing the packages takes: the requirements file, those that it includes,
// and the packages that it names by a path.
func (p *Plan) readRequirements() []model.Problem {
	r := &requirementsReader{plan: p, seen: map[string]bool{}}
	if file := p.build.Requirements; file.Value != "" {
		if place, ok := r.place(model.CogFile, file.Line, "build.python_requirements",
			path.Join(p.below, filepath.ToSlash(file.Value))); ok {
			r.file(place)
		}
	}
	for _, line := range p.build.Packages {
		r.line(model.CogFile, line.Line, p.below, line.Value)
	}
	for _, link := range p.build.FindLinks {
		if !strings.Contains(link.Value, "://") {
			r.local(model.CogFile, link.Line, link.Value, path.Join(p.below, link.Value))
		}
	}
	return r.problems
}

type requirementsReader struct {
	plan     *Plan
	seen     map[string]bool
	problems []model.Problem
}

func (r *requirementsReader) add(file string, line int, what, fix string) {
	r.problems = append(r.problems, model.Problem{File: file, Line: line, What: what, Fix: fix})
}

// place checks that a file is within the context.
func (r *requirementsReader) place(file string, line int, what, place string) (string, bool) {
	if path.IsAbs(place) || place == ".." || strings.HasPrefix(place, "../") {
		r.add(file, line, fmt.Sprintf("%s: %s is outside of the folder that the image is built from", what, place),
			"name a folder above both by --context")
		return "", false
	}
	return place, true
}

// file reads a file in pip's format. The code that names the file checks that it exists.
func (r *requirementsReader) file(place string) {
	if r.seen[place] {
		return
	}
	r.seen[place] = true
	data, err := usertext.ReadFile(filepath.Join(r.plan.root, filepath.FromSlash(place)), usertext.MaxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		r.add(r.shown(place), 0, usertext.Reason(err).Error(), "make it a file that can be read, of 16 MiB at most")
		return
	}
	if !usertext.IsUTF8(filepath.Join(r.plan.root, filepath.FromSlash(place))) {
		r.add(r.shown(place), 0, "not in UTF-8: uv, which installs the packages, reads only that",
			"save it as UTF-8; in PowerShell: Set-Content -Encoding utf8")
		return
	}
	r.plan.requirements = append(r.plan.requirements, place)
	if ext := path.Ext(place); ext == ".toml" || ext == ".lock" {
		return // pyproject.toml, pylock.toml
	}
	shown := r.shown(place)
	for _, l := range requirementsOf(string(data)) {
		r.line(shown, l.Line, path.Dir(place), l.Value)
	}
}

// shown returns the name of a file in messages: below the model's folder where it is there.
func (r *requirementsReader) shown(place string) string {
	if below, err := filepath.Rel(r.plan.below, place); err == nil {
		return filepath.ToSlash(below)
	}
	return place
}

// line reads a requirement or an option; dir is the folder that its paths are relative to.
func (r *requirementsReader) line(file string, number int, dir, text string) {
	if m := includeOption().FindStringSubmatch(text); m != nil {
		if strings.Contains(m[1], "://") {
			return
		}
		place, ok := r.place(file, number, text, path.Join(dir, m[1]))
		if !ok {
			return
		}
		if _, err := os.Stat(filepath.Join(r.plan.root, filepath.FromSlash(place))); err != nil {
			r.add(file, number, fmt.Sprintf("%s: file %s does not exist", text, m[1]), "make it, or remove the line")
			return
		}
		r.file(place)
		return
	}
	if editableOption().MatchString(text) {
		r.add(file, number, fmt.Sprintf("%s: the code is not there yet when packages are installed, so none can be editable",
			text),
			"remove the line: the model's folder can be imported; or name the package's folder without -e")
		return
	}
	if m := findOption().FindStringSubmatch(text); m != nil && !strings.Contains(m[1], "://") {
		r.local(file, number, text, path.Join(dir, m[1]))
		return
	}
	if m := localName().FindStringSubmatch(text); m != nil && !strings.Contains(text, "://") ||
		m != nil && strings.Contains(text, "file://") {
		r.local(file, number, text, path.Join(dir, m[1]))
	}
}

// local is a package, or a folder of packages, that the context holds.
func (r *requirementsReader) local(file string, number int, text, place string) {
	place, ok := r.place(file, number, text, place)
	if !ok {
		return
	}
	if _, err := os.Stat(filepath.Join(r.plan.root, filepath.FromSlash(place))); err != nil {
		r.add(file, number, fmt.Sprintf("%s: %s does not exist", text, place), "put it there, or name a package of the index")
		return
	}
	within := func(folder string) bool { return folder == place || strings.HasPrefix(place, folder+"/") }
	if !slices.ContainsFunc(r.plan.requirements, within) {
		r.plan.requirements = append(r.plan.requirements, place)
	}
}

var comment = pattern(`(^|\s)#.*`)

// requirementsOf returns the lines of a file in pip's format, without comments; continued lines are one.
func requirementsOf(text string) (list []model.Text) {
	var joined strings.Builder
	first := 0
	for i, line := range strings.Split(text, "\n") {
		line = strings.TrimRight(line, "\r")
		if joined.Len() == 0 {
			first = i + 1
		}
		rest, more := strings.CutSuffix(line, `\`)
		joined.WriteString(rest)
		if more {
			joined.WriteByte(' ')
			continue
		}
		if value := strings.TrimSpace(comment().ReplaceAllString(joined.String(), "")); value != "" {
			list = append(list, model.Text{Value: value, Line: first})
		}
		joined.Reset()
	}
	return list
}

// Requirement is a line of the model's requirements with its place.
type Requirement struct {
	model.Text
	File string
}

// Requirements returns all requirements and options of a model: cog.yaml's and those of its files.
func Requirements(dir string, b *model.Build) (lines []Requirement) {
	for _, line := range b.Packages {
		lines = append(lines, Requirement{line, model.CogFile})
	}
	seen := map[string]bool{}
	var read func(file string)
	read = func(file string) {
		if seen[file] {
			return
		}
		seen[file] = true
		data, err := usertext.ReadFile(filepath.Join(dir, file), usertext.MaxLock)
		if err != nil {
			return
		}
		for _, line := range requirementsOf(string(data)) {
			lines = append(lines, Requirement{line, file})
			if m := includeOption().FindStringSubmatch(line.Value); m != nil && strings.HasPrefix(line.Value, "-r") {
				read(filepath.Join(filepath.Dir(file), m[1]))
			}
		}
	}
	if b.Requirements.Value != "" {
		read(b.Requirements.Value)
	}
	return lines
}
