package model

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/nearest"
	"pinion/runtime/weights"
)

const CogFile = "cog.yaml"

// CogYAMLReport is the result of checking a folder's cog.yaml.
type CogYAMLReport struct {
	dir  string
	root *usertext.Node // nil means there is no file, or none that can be read
	// strict means that what only concerns an image is a mistake too.
	strict   bool
	Problems []Problem
	Warnings []Problem
	// unusable are the problems that keep the model from being served.
	unusable []Problem
	// fetched are the weights that a server fetches.
	fetched []weights.Weight
	lock    *weights.Lock // nil if there is none
}

// CheckCogYAML looks for every mistake in a folder's cog.yaml. It is no mistake if there is no file.
func CheckCogYAML(dir string) *CogYAMLReport { return checkCogYAML(dir, false) }

func checkCogYAML(dir string, strict bool) *CogYAMLReport {
	c := readCogYAML(dir, strict)
	if c.root == nil {
		return c
	}
	c.together()
	for _, key := range []string{"run", "predict", "train"} {
		if n := c.root.Get(key); n != nil && n.Kind == usertext.Text {
			c.reference(key, n)
		}
	}
	return c
}

// bothSet is the message for a cog.yaml with both keys.
const bothSet = "run and predict are both set: Cog allows only one of them"

// findings returns the mistakes in a cog.yaml that do not keep a server from starting. runCounts means that the key run
// is served, so predict beside it is one of them.
func (c *CogYAMLReport) findings(runCounts bool) []Problem {
	if c.root == nil {
		return nil
	}
	c.together()
	return slices.DeleteFunc(slices.Concat(c.Problems, c.Warnings), func(p Problem) bool {
		return p.What == bothSet && !runCounts
	})
}

// readCogYAML reads a folder's cog.yaml and checks each of its values.
func readCogYAML(dir string, strict bool) *CogYAMLReport {
	c := &CogYAMLReport{dir: dir, strict: strict}
	data, err := usertext.ReadFile(filepath.Join(dir, CogFile), usertext.MaxText)
	if errors.Is(err, os.ErrNotExist) {
		return c
	}
	if err != nil {
		c.addUnusable(0, usertext.Reason(err).Error(), "make it a file that can be read, of 1 MiB at most")
		return c
	}
	documents, err := usertext.ParseYAML(data)
	if err != nil {
		var fault *usertext.SyntaxError
		errors.As(err, &fault)
		c.addUnusable(fault.Line, fault.What, "fix the YAML; keys and values are written as key: value")
		return c
	}
	c.documents(documents)
	if c.root != nil {
		c.value("", c.root, cogForm())
		c.weights()
	}
	return c
}

// documents takes the document that counts, which is the first.
func (c *CogYAMLReport) documents(found []*usertext.Node) {
	if len(found) == 0 {
		return
	}
	c.root = found[0]
	if len(found) > 1 {
		c.warn(found[1].Line, "another YAML document begins here, and only the first is read",
			"remove the line --- before it, or what follows")
	}
}

func (c *CogYAMLReport) add(line int, what, fix string) {
	c.Problems = append(c.Problems, Problem{File: CogFile, Line: line, What: what, Fix: fix})
}

func (c *CogYAMLReport) warn(line int, what, fix string) {
	c.Warnings = append(c.Warnings, Problem{File: CogFile, Line: line, What: what, Fix: fix})
}

func (c *CogYAMLReport) addUnusable(line int, what, fix string) {
	c.add(line, what, fix)
	c.unusable = append(c.unusable, c.Problems[len(c.Problems)-1])
}

// reporter returns addUnusable for a value that a server uses, add for one that an image is made of, else warn.
func (c *CogYAMLReport) reporter(f *valueForm) func(line int, what, fix string) {
	switch {
	case f.serves:
		return c.addUnusable
	case c.strict:
		return c.add
	}
	return c.warn
}

// value checks the value of a key, and all below it; path is "build.run", or "" for the whole file.
func (c *CogYAMLReport) value(path string, n *usertext.Node, f *valueForm) {
	if !f.allows(n) {
		what := path
		if path == "" {
			what, f = "the file", &valueForm{kinds: f.kinds, serves: true}
		}
		c.reporter(f)(n.Line, fmt.Sprintf("%s is %s: must be %s", what, n.Kind, f.wanted()), example(f))
		return
	}
	if f.rule != nil && n.Kind != usertext.Null {
		if what, fix := f.rule(n); what != "" {
			c.reporter(f)(n.Line, path+": "+what, fix)
		}
	}
	if what, fix := f.oneLine(n); what != "" {
		c.reporter(&valueForm{})(n.Line, path+": "+what, fix)
	}
	if f.item != nil {
		for _, item := range n.Items {
			c.value(path, item, f.item)
		}
	}
	c.keys(path, n, f)
}

func (c *CogYAMLReport) keys(path string, n *usertext.Node, f *valueForm) {
	known := slices.Sorted(maps.Keys(f.keys))
	for _, entry := range n.Entries {
		if entry.Again {
			c.addUnusable(entry.Line, fmt.Sprintf("%s%q is given twice, first in line %d", prefix(path), entry.Key, entry.First),
				"remove one of them")
			continue
		}
		form, is := f.keys[entry.Key]
		switch {
		case f.keys == nil || strings.HasPrefix(entry.Key, "x-"): // such as hold anchors
		case is:
			c.value(strings.TrimPrefix(path+"."+entry.Key, "."), entry.Value, form)
		default:
			c.unknownKey(path, entry, known)
		}
	}
}

// unknownKey is a problem where a key that serving needs was likely meant. Other keys may be known to other programs:
// Cog ignores those that it does not know.
func (c *CogYAMLReport) unknownKey(path string, entry usertext.Entry, known []string) {
	what := fmt.Sprintf("%sunknown key %q", prefix(path), entry.Key)
	near := nearest.Word(entry.Key, known)
	fix := fmt.Sprintf("did you mean %q?", near)
	switch {
	case near != "" && (c.strict || path == "" && nearest.Distance(entry.Key, near) <= 2):
		c.add(entry.Line, what, fix)
	case c.strict:
		c.add(entry.Line, what, "remove it; the keys here are "+strings.Join(known, ", "))
	case near != "":
		c.warn(entry.Line, what, fix)
	default:
		c.warn(entry.Line, what, "it has no effect; the keys here are "+strings.Join(known, ", "))
	}
}

// prefix stands before a key in messages.
func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// example returns how to write a value.
func example(f *valueForm) string {
	switch f.kinds[0] {
	case usertext.Mapping:
		return "write its keys below it, each as key: value"
	case usertext.List:
		return "write each item in its own line, as - item"
	case usertext.Bool:
		return "write true or false, without quotes"
	case usertext.Number:
		return "write a number, without quotes"
	}
	return "write a text, in quotes"
}

// together checks keys that exclude each other, and values that are not used as they are written.
func (c *CogYAMLReport) together() {
	if slots := c.root.Get("concurrency").Get("max"); slots != nil && slots.Number > 1 &&
		slots.Number != math.Trunc(slots.Number) {
		c.warn(slots.Line, fmt.Sprintf("concurrency.max: %s is not a whole number: %.0f is used", slots.Text,
			math.Trunc(slots.Number)),
			"give a whole number")
	}
	run, predict := c.root.Get("run"), c.root.Get("predict")
	if run != nil && predict != nil && run.Text != "" && predict.Text != "" {
		c.add(predict.Line, bothSet, "remove predict: run is served")
	}
	build := c.root.Get("build")
	packages, file := build.Get("python_packages"), build.Get("python_requirements")
	if file != nil && file.Text != "" {
		if packages != nil && len(packages.Items) > 0 {
			c.warn(packages.Line, "build: python_packages and python_requirements are both given, which Cog refuses",
				"list the packages in one of them")
		}
		if !isFile(below(c.dir, file.Text)) {
			c.reporter(&valueForm{})(file.Line, fmt.Sprintf("build.python_requirements: file %s does not exist", file.Text),
				"make it, or name another one")
		}
	}
}

// below returns a file that is named from a folder.
func below(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// isFile reports whether there is a file of that name. A device is none: reading it might never end.
func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// reference checks that run:, predict: or train: names a file that is there.
func (c *CogYAMLReport) reference(key string, n *usertext.Node) {
	if n.Text == "" {
		return
	}
	file, name, named := strings.Cut(n.Text, ":")
	const form = "write it as FILE.py:NAME, the file below this folder and a class or function in it"
	switch {
	case file == "" || !strings.HasSuffix(file, ".py") || named && name == "":
		c.add(n.Line, fmt.Sprintf("%s: invalid reference %q", key, n.Text), form)
	default:
		if !isFile(filepath.Join(c.dir, file)) {
			c.add(n.Line, fmt.Sprintf("%s: file %s does not exist", key, file), form)
		}
	}
}

// Guess returns the model that a folder with mistakes in its cog.yaml is likely to mean, or nil: its source is checked
// all the same.
func Guess(dir, ref string, env func(string) string) *Model {
	y := readCogYAML(dir, false).settings()
	m := &Model{Dir: dir, Train: cmp.Or(env("COG_TRAIN_TYPE_STUB"), y.train), Concurrency: y.concurrency, Ranks: y.ranks}
	m.Ref = cmp.Or(ref, env("COG_PREDICT_TYPE_STUB"), y.run, y.predict, conventional(dir))
	_ = m.NoneDefaults.Set(y.noneDefaults)
	for _, entry := range y.environment {
		if name, _, ok := strings.Cut(entry, "="); ok && name != "" {
			m.Env = append(m.Env, entry)
		}
	}
	m.Env = unset(m.Env)
	if m.Name() == "" {
		return nil
	}
	return m
}

// PredictorLine returns where the file names the predictor, or zero values if it does not.
func (c *CogYAMLReport) PredictorLine() (file string, line int) {
	for _, key := range []string{"run", "predict", "train"} {
		if n := c.root.Get(key); n != nil && n.Text != "" {
			return CogFile, n.Line
		}
	}
	return "", 0
}
