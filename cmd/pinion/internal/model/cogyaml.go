package model

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"pinion/cmd/pinion/internal/nearest"
)

const CogFile = "cog.yaml"

// CogYAMLReport is what a look at a folder's cog.yaml finds.
type CogYAMLReport struct {
	dir  string
	root *yamlNode // nil: there is no file, or none that can be read
	// strict: what only concerns an image is a mistake too.
	strict   bool
	Problems []Problem
	Warnings []Problem
}

// CheckCogYAML looks for every mistake in a folder's cog.yaml. No file is none.
func CheckCogYAML(dir string) *CogYAMLReport { return checkCogYAML(dir, false) }

func checkCogYAML(dir string, strict bool) *CogYAMLReport {
	c := &CogYAMLReport{dir: dir, strict: strict}
	data, err := os.ReadFile(filepath.Join(dir, CogFile))
	if errors.Is(err, os.ErrNotExist) {
		return c
	}
	if err != nil {
		c.Problems = []Problem{{File: CogFile, What: err.Error(), Mend: "make it readable"}}
		return c
	}
	file, err := parser.ParseBytes(data, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		c.Problems = []Problem{yamlError(err)}
		return c
	}
	c.documents(file)
	if c.root != nil && c.root.kind != yamlNull {
		c.value("", c.root, cogForm())
		c.together()
		for _, key := range []string{"run", "predict", "train"} {
			if n := c.root.get(key); n != nil && n.kind == yamlText {
				c.reference(key, n)
			}
		}
	}
	var y cogYAML
	decoder := yaml.NewDecoder(bytes.NewReader(data), yaml.AllowDuplicateMapKey())
	if err := decoder.Decode(&y); err != nil && len(c.Problems) == 0 && !errors.Is(err, io.EOF) {
		c.Problems = append(c.Problems, yamlError(err))
	}
	return c
}

// documents finds the document that counts, which is the first.
func (c *CogYAMLReport) documents(file *ast.File) {
	for _, document := range file.Docs {
		if document.Body == nil {
			continue
		}
		if c.root == nil {
			c.root = readYAML(document.Body)
			continue
		}
		c.warn(document.Body.GetToken().Position.Line, "another YAML document begins here, and only the first is read",
			"remove the line --- before it, or what follows")
		return
	}
}

func (c *CogYAMLReport) add(line int, what, mend string) {
	c.Problems = append(c.Problems, Problem{File: CogFile, Line: line, What: what, Mend: mend})
}

func (c *CogYAMLReport) warn(line int, what, mend string) {
	c.Warnings = append(c.Warnings, Problem{File: CogFile, Line: line, What: what, Mend: mend})
}

// reporter is add for a value that is used, else warn.
func (c *CogYAMLReport) reporter(f *valueForm) func(line int, what, mend string) {
	if f.serves || c.strict {
		return c.add
	}
	return c.warn
}

// value looks at the value of a key, and at all below it; path is "build.run", "" for the whole file.
func (c *CogYAMLReport) value(path string, n *yamlNode, f *valueForm) {
	if !f.allows(n) {
		what := path
		if path == "" {
			what, f = "the file", &valueForm{kinds: f.kinds, serves: true}
		}
		c.reporter(f)(n.line, fmt.Sprintf("%s is %s, and should be %s", what, n.kind, f.wanted()), example(f))
		return
	}
	if f.rule != nil && n.kind != yamlNull {
		if what, mend := f.rule(n); what != "" {
			c.reporter(f)(n.line, path+": "+what, mend)
		}
	}
	if f.item != nil {
		for _, item := range n.items {
			c.value(path, item, f.item)
		}
	}
	c.keys(path, n, f)
}

// keys looks at the keys of a mapping.
func (c *CogYAMLReport) keys(path string, n *yamlNode, f *valueForm) {
	known := slices.Sorted(maps.Keys(f.keys))
	for _, entry := range n.entries {
		if entry.again {
			c.add(entry.line, fmt.Sprintf("%s%q is given twice, first in line %d", prefix(path), entry.key, entry.first), "remove one of them")
			continue
		}
		form, is := f.keys[entry.key]
		switch {
		case f.keys == nil || strings.HasPrefix(entry.key, "x-"): // such as hold anchors
		case is:
			c.value(strings.TrimPrefix(path+"."+entry.key, "."), entry.value, form)
		default:
			c.unknownKey(path, entry, known)
		}
	}
}

// unknownKey is a problem where a key that serving needs was likely meant. Other keys may be known to somebody else: Cog
// ignores those that it does not know.
func (c *CogYAMLReport) unknownKey(path string, entry yamlEntry, known []string) {
	what := fmt.Sprintf("%s%q is no key that is known", prefix(path), entry.key)
	near := nearest.Word(entry.key, known)
	mend := fmt.Sprintf("write %q, if that is what is meant", near)
	switch {
	case near != "" && (c.strict || path == "" && nearest.Distance(entry.key, near) <= 2):
		c.add(entry.line, what, mend)
	case c.strict:
		c.add(entry.line, what, "remove it; the keys here are "+strings.Join(known, ", "))
	case near != "":
		c.warn(entry.line, what, mend)
	default:
		c.warn(entry.line, what, "it has no effect; the keys here are "+strings.Join(known, ", "))
	}
}

// prefix stands before a key in messages.
func prefix(path string) string {
	if path == "" {
		return ""
	}
	return path + ": "
}

// example is how to write a value.
func example(f *valueForm) string {
	switch f.kinds[0] {
	case yamlMapping:
		return "write its keys below it, each as key: value"
	case yamlList:
		return "write each item in its own line, as - item"
	case yamlBool:
		return "write true or false, without quotes"
	case yamlNumber:
		return "write a number, without quotes"
	}
	return "write a text, in quotes"
}

// together looks at keys that exclude each other, and at values that are not used as they stand.
func (c *CogYAMLReport) together() {
	if slots := c.root.get("concurrency").get("max"); slots != nil && slots.number > 1 && slots.number != math.Trunc(slots.number) {
		c.warn(slots.line, fmt.Sprintf("concurrency.max: it is %s, and %.0f is used", slots.text, math.Trunc(slots.number)), "give a whole number")
	}
	run, predict := c.root.get("run"), c.root.get("predict")
	if run != nil && predict != nil && run.text != "" && predict.text != "" {
		c.add(predict.line, BothWhat, BothMend)
	}
	build := c.root.get("build")
	packages, file := build.get("python_packages"), build.get("python_requirements")
	if file != nil && file.text != "" {
		if packages != nil && len(packages.items) > 0 {
			c.warn(packages.line, "build: python_packages and python_requirements are both given, which Cog refuses", "list the packages in one of them")
		}
		if info, err := os.Stat(below(c.dir, file.text)); err != nil || info.IsDir() {
			c.reporter(&valueForm{})(file.line, fmt.Sprintf("build.python_requirements: there is no file %s", file.text), "make it, or name another one")
		}
	}
}

// below is a file that is named from a folder.
func below(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// reference checks that run:, predict: or train: names a file that is there.
func (c *CogYAMLReport) reference(key string, n *yamlNode) {
	if n.text == "" {
		return
	}
	file, name, named := strings.Cut(n.text, ":")
	const form = "write it as FILE.py:NAME, the file below this folder and a class or function in it"
	switch {
	case file == "" || !strings.HasSuffix(file, ".py") || named && name == "":
		c.add(n.line, fmt.Sprintf("%s: %q is no reference", key, n.text), form)
	default:
		if info, err := os.Stat(filepath.Join(c.dir, file)); err != nil || info.IsDir() {
			c.add(n.line, fmt.Sprintf("%s: there is no file %s", key, file), form)
		}
	}
}

// Guess is the model that a folder with mistakes in its cog.yaml is likely to mean, or nil: its source is
// to be looked at all the same.
func Guess(dir, ref string, env func(string) string) *Model {
	var y cogYAML
	if data, err := os.ReadFile(filepath.Join(dir, CogFile)); err == nil {
		_ = yaml.NewDecoder(bytes.NewReader(data), yaml.AllowDuplicateMapKey()).Decode(&y) // as far as it can be read
	}
	m := &Model{Dir: dir, Train: cmp.Or(env("COG_TRAIN_TYPE_STUB"), y.Train), Concurrency: y.Concurrency.Max}
	m.Ref = cmp.Or(ref, env("COG_PREDICT_TYPE_STUB"), y.Run, y.Predict, conventional(dir))
	_ = m.NoneDefaults.Set(y.NoneDefaults)
	for _, entry := range y.Environment {
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

// PredictorLine is where the file names the predictor; nowhere where it does not.
func (c *CogYAMLReport) PredictorLine() (file string, line int) {
	for _, key := range []string{"run", "predict", "train"} {
		if n := c.root.get(key); n != nil && n.text != "" {
			return CogFile, n.line
		}
	}
	return "", 0
}

// yamlError is a fault in the file itself.
func yamlError(err error) Problem {
	p := Problem{File: CogFile, What: err.Error(), Mend: "mend the YAML; keys and values are written as key: value"}
	var at yaml.Error
	if errors.As(err, &at) {
		p.What = at.GetMessage()
		if t := at.GetToken(); t != nil {
			p.Line = t.Position.Line
		}
	}
	return p
}
