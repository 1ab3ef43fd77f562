package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
)

const cogFile = "cog.yaml"

// knownKeys are the keys that a cog.yaml may have at its top, ours and those that concern building an image.
func knownKeys() []string {
	return []string{
		"build", "concurrency", "description", "environment", "image", "model", "predict", "run", "tests", "train", "weights",
	}
}

// cogYAMLProblems is every mistake in a folder's cog.yaml. No file is none.
func cogYAMLProblems(dir string) []problem {
	data, err := os.ReadFile(filepath.Join(dir, cogFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return []problem{{File: cogFile, What: err.Error(), Mend: "make it readable"}}
	}
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return []problem{yamlError(err)}
	}
	c := &cogYAMLCheck{dir: dir, file: file}
	var y cogYAML
	if err := yaml.Unmarshal(data, &y); err != nil {
		return append(c.problems, yamlError(err))
	}
	c.keys(data)
	for _, key := range []struct{ name, ref string }{{"run", y.Run}, {"predict", y.Predict}, {"train", y.Train}} {
		c.reference(key.name, key.ref)
	}
	for i, entry := range y.Environment {
		if name, _, ok := strings.Cut(entry, "="); !ok || name == "" {
			c.add(fmt.Sprintf("$.environment[%d]", i), fmt.Sprintf("environment: %q is not NAME=value", entry),
				"write it as NAME=value, one in a line")
		}
	}
	if y.Concurrency.Max < 0 {
		c.add("$.concurrency.max", fmt.Sprintf("concurrency.max is %d", y.Concurrency.Max), "give a number of at least 1")
	}
	return c.problems
}

type cogYAMLCheck struct {
	dir      string
	file     *ast.File
	problems []problem
}

func (c *cogYAMLCheck) add(path, what, mend string) {
	c.problems = append(c.problems, problem{File: cogFile, Line: c.line(path), What: what, Mend: mend})
}

// line is where a path begins in the file; 0 where it is not in it.
func (c *cogYAMLCheck) line(path string) int {
	p, err := yaml.PathString(path)
	if err != nil {
		return 0
	}
	node, err := p.FilterFile(c.file)
	if err != nil || node == nil || node.GetToken() == nil {
		return 0
	}
	return node.GetToken().Position.Line
}

// keys finds misspelt keys. Others that we do not know are left to whoever does.
func (c *cogYAMLCheck) keys(data []byte) {
	var top yaml.MapSlice
	if yaml.Unmarshal(data, &top) != nil {
		return // no mapping; the caller has said so
	}
	for _, item := range top {
		key := fmt.Sprint(item.Key)
		if slices.Contains(knownKeys(), key) {
			continue
		}
		for _, known := range knownKeys() {
			if editDistance(key, known) <= 2 {
				c.add("$."+key, fmt.Sprintf("%q is no key that is known", key), fmt.Sprintf("write %q, if that is what is meant", known))
				break
			}
		}
	}
}

// reference checks that run:, predict: or train: names a file that is there.
func (c *cogYAMLCheck) reference(key, ref string) {
	if ref == "" {
		return
	}
	file, name, named := strings.Cut(ref, ":")
	const form = "write it as FILE.py:NAME, the file below this folder and a class or function in it"
	switch {
	case file == "" || !strings.HasSuffix(file, ".py") || named && name == "":
		c.add("$."+key, fmt.Sprintf("%s: %q is no reference", key, ref), form)
	default:
		if info, err := os.Stat(filepath.Join(c.dir, file)); err != nil || info.IsDir() {
			c.add("$."+key, fmt.Sprintf("%s: there is no file %s", key, file), form)
		}
	}
}

// guessModel is the model that a folder with mistakes in its cog.yaml is likely to mean, or nil: its source is
// to be looked at all the same.
func guessModel(dir, ref string, env func(string) string) *model {
	var y cogYAML
	if data, err := os.ReadFile(filepath.Join(dir, cogFile)); err == nil {
		_ = yaml.Unmarshal(data, &y) // as far as it can be read
	}
	m := &model{Dir: dir, Train: firstOf(env("COG_TRAIN_TYPE_STUB"), y.Train), Concurrency: y.Concurrency.Max}
	m.Ref = firstOf(ref, env("COG_PREDICT_TYPE_STUB"), y.Run, y.Predict, conventional(dir))
	for _, entry := range y.Environment {
		if name, _, ok := strings.Cut(entry, "="); ok && name != "" {
			m.Env = append(m.Env, entry)
		}
	}
	m.Env = unset(m.Env)
	if m.name() == "" {
		return nil
	}
	return m
}

// cogYAMLLine is where a folder's cog.yaml names the predictor; nowhere where it does not.
func cogYAMLLine(m *model) (file string, line int) {
	data, err := os.ReadFile(filepath.Join(m.Dir, cogFile))
	if err != nil {
		return "", 0
	}
	parsed, err := parser.ParseBytes(data, 0)
	if err != nil {
		return "", 0
	}
	c := &cogYAMLCheck{file: parsed}
	for _, key := range []string{"$.run", "$.predict", "$.train"} {
		if line := c.line(key); line > 0 {
			return cogFile, line
		}
	}
	return "", 0
}

// yamlError is a fault in the file itself.
func yamlError(err error) problem {
	p := problem{File: cogFile, What: err.Error(), Mend: "mend the YAML; keys and values are written as key: value"}
	var at yaml.Error
	if errors.As(err, &at) {
		p.What = at.GetMessage()
		if t := at.GetToken(); t != nil {
			p.Line = t.Position.Line
		}
	}
	return p
}
