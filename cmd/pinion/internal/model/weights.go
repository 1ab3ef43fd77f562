package model

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/nearest"
)

// Weight is an entry of weights.
type Weight struct {
	Name, Target string
	Sources      []Source
	Line         int
}

// Source is where weights come from: a URL, or a path below the model's folder.
type Source struct {
	URI              string
	Include, Exclude []string // patterns of files below the URI; nil means all, and none
	Line             int
}

// Remote reports whether a source is elsewhere than on this machine.
func (s Source) Remote() bool {
	return strings.Contains(s.URI, "://") && !strings.HasPrefix(s.URI, "file://")
}

// Path returns the path of a source that is not remote.
func (s Source) Path() string { return path.Clean(strings.TrimPrefix(s.URI, "file://")) }

// Files returns the files below a folder that Include and Exclude leave, as paths below it.
func (s Source) Files(folder string) (files []string, err error) {
	err = filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		below, err := filepath.Rel(folder, name)
		if below = filepath.ToSlash(below); err == nil && s.includes(below) {
			files = append(files, below)
		}
		return err
	})
	return files, err
}

// NoFiles returns what is wrong with patterns that leave no file of a place, and what would be right.
func NoFiles(place string) (what, fix string) {
	return fmt.Sprintf("weights: include and exclude leave no file below %s", place),
		"fix the patterns: *.safetensors is for a name, folder/** for a path"
}

// includes reports whether a file below the source is one of the weights. A pattern with a slash is for the whole path,
// and ** in it for any folders; another one is for the name of the file or of a folder above it.
func (s Source) includes(file string) bool {
	matches := func(pattern string) bool { return matchesPath(pattern, file) }
	return (len(s.Include) == 0 || slices.ContainsFunc(s.Include, matches)) && !slices.ContainsFunc(s.Exclude, matches)
}

func matchesPath(pattern, file string) bool {
	parts := strings.Split(file, "/")
	pattern = strings.TrimSuffix(strings.TrimPrefix(pattern, "./"), "/")
	if strings.Contains(pattern, "/") {
		return matchesParts(strings.Split(strings.TrimPrefix(pattern, "/"), "/"), parts)
	}
	return slices.ContainsFunc(parts, func(part string) bool { is, _ := path.Match(pattern, part); return is })
}

// matchesParts reports whether a pattern is for a path, or for a folder above it.
func matchesParts(pattern, parts []string) bool {
	for i, word := range pattern {
		if word == "**" {
			for skipped := range len(parts) - i + 1 {
				if matchesParts(pattern[i+1:], parts[i+skipped:]) {
					return true
				}
			}
			return false
		}
		if i >= len(parts) {
			return false
		}
		if is, _ := path.Match(word, parts[i]); !is {
			return false
		}
	}
	return len(pattern) > 0 || len(parts) > 0
}

// sourceSchemes returns the URL schemes that weights may come from.
func sourceSchemes() []string { return []string{"https", "http", "hf", "s3", "gs", "oci", "file"} }

// weightsForm returns what may stand under weights: URLs or paths, or mappings with a name, a target and a source,
// which is one of those or a mapping, or a list of them.
func weightsForm(line func(rule func(*usertext.Node) (string, string)) *valueForm) *valueForm {
	patterns := &valueForm{kinds: []usertext.NodeKind{usertext.List}, item: line(patternRule)}
	uri := line(sourceRule)
	mappingOf := func(keys map[string]*valueForm) *valueForm {
		f := mapping(keys)
		f.kinds, f.rule, f.line = append([]usertext.NodeKind{usertext.Text}, f.kinds...), sourceRule, true
		return f
	}
	single := mappingOf(map[string]*valueForm{"uri": uri, "include": patterns, "exclude": patterns})
	source := mappingOf(single.keys)
	source.kinds, source.item = append(source.kinds, usertext.List), single
	entry := mappingOf(map[string]*valueForm{
		"name": line(nil), "target": line(nil), "source": source, "sha256": line(nil),
		"wait": {kinds: []usertext.NodeKind{usertext.Bool}},
	})
	return &valueForm{kinds: []usertext.NodeKind{usertext.List, usertext.Text}, item: entry, rule: sourceRule, line: true}
}

// sourceRule checks a URI; mappings and lists have rules for what is in them.
func sourceRule(n *usertext.Node) (what, fix string) {
	scheme, rest, is := strings.Cut(n.Text, "://")
	if n.Kind != usertext.Text || !is {
		return "", ""
	}
	if !slices.Contains(sourceSchemes(), scheme) {
		fix = "write one of " + strings.Join(sourceSchemes(), ", ") + ", or a path below this folder"
		if near := nearest.Word(scheme, sourceSchemes()); near != "" {
			fix = fmt.Sprintf("write %s://, if that is what is meant", near)
		}
		return fmt.Sprintf("%.60q has an unknown scheme", scheme), fix
	}
	if host, _, _ := strings.Cut(rest, "/"); strings.Contains(host, "@") && scheme != "hf" {
		return "the URL has a user or a password", "remove it: cog.yaml becomes part of the image"
	}
	return "", ""
}

func patternRule(n *usertext.Node) (what, fix string) {
	if _, err := path.Match(n.Text, ""); err != nil {
		return fmt.Sprintf("invalid pattern %.60q", n.Text), "write it as *.safetensors or as folder/**"
	}
	return "", ""
}

func weightsOf(n *usertext.Node) (list []Weight) {
	if n == nil {
		return nil
	}
	if n.Kind == usertext.Text {
		return []Weight{{Sources: sourcesOf(n), Line: n.Line}}
	}
	for _, item := range n.Items {
		w := Weight{Line: item.Line}
		if item.Kind == usertext.Mapping {
			w.Name, w.Target, w.Sources = textOf(item.Get("name")).Value, textOf(item.Get("target")).Value,
				sourcesOf(item.Get("source"))
		} else {
			w.Sources = sourcesOf(item)
		}
		list = append(list, w)
	}
	return list
}

// sourcesOf reads a source: a text, a mapping, or a list of them.
func sourcesOf(n *usertext.Node) (list []Source) {
	if n == nil {
		return nil
	}
	s := Source{Line: n.Line}
	switch n.Kind {
	case usertext.List:
		for _, item := range n.Items {
			list = append(list, sourcesOf(item)...)
		}
		return list
	case usertext.Mapping:
		s.URI, s.Include, s.Exclude = textOf(n.Get("uri")).Value, valuesOf(n.Get("include")), valuesOf(n.Get("exclude"))
	default:
		s.URI = textOf(n).Value
	}
	if s.URI == "" {
		return nil
	}
	return []Source{s}
}

func valuesOf(n *usertext.Node) (list []string) {
	for _, text := range textsOf(n) {
		list = append(list, text.Value)
	}
	return list
}

// weights checks entries that exclude each other or that an image could not have.
func (c *CogYAMLReport) weights() {
	report := c.reporter(&valueForm{})
	first := map[string]int{}
	for _, w := range weightsOf(c.root.Get("weights")) {
		if !c.strict { // package image checks them itself
			c.localWeights(w)
		}
		target := w.Target
		if target == "" {
			continue
		}
		if !path.IsAbs(target) {
			if target = path.Clean(target); target == ".." || strings.HasPrefix(target, "../") {
				report(w.Line, fmt.Sprintf("weights: the target %s is outside of the model's folder", w.Target),
					"name a place below the folder, or an absolute path")
			}
		}
		if line, again := first[target]; again {
			report(w.Line, fmt.Sprintf("weights: another entry has the target %s, in line %d", w.Target, line),
				"give each entry its own target; an entry may have a list of sources")
		}
		first[target] = w.Line
	}
}

// localWeights warns of sources in the folder that are not there.
func (c *CogYAMLReport) localWeights(w Weight) {
	for _, s := range w.Sources {
		if s.Remote() {
			continue
		}
		place := below(c.dir, s.Path())
		if _, err := os.Stat(place); err != nil {
			c.warn(s.Line, fmt.Sprintf("weights: %s does not exist", s.URI),
				"put the weights there, or write source: with the URL that they come from")
			continue
		}
		if len(s.Include)+len(s.Exclude) == 0 {
			continue
		}
		if files, err := s.Files(place); err == nil && len(files) == 0 {
			what, fix := NoFiles(s.URI)
			c.warn(s.Line, what, fix)
		}
	}
}
