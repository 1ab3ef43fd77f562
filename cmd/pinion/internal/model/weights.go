package model

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/nearest"
	"pinion/runtime/weights"
)

// Weight is an entry of weights.
type Weight struct {
	Name, Target string
	SHA256       string // of its only file, or ""
	NoWait       bool
	Unpack       bool
	Sources      []Source
	Line         int
}

// Source is where weights come from: a URL, or a path below the model's folder.
type Source struct {
	weights.Source
	Line int
	text bool // it is written as a text, which Cog refuses
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
		if below = filepath.ToSlash(below); err == nil && s.Includes(below) {
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

// sourceSchemes returns the URL schemes that weights may come from.
func sourceSchemes() []string {
	return []string{"https", "http", "hf", "huggingface", "s3", "gs", "oci", "file"}
}

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
		"name": line(weightNameRule), "target": line(nil), "source": source, "sha256": line(sha256Rule),
		"wait": {kinds: []usertext.NodeKind{usertext.Bool}}, "unpack": {kinds: []usertext.NodeKind{usertext.Bool}},
	})
	all := &valueForm{kinds: []usertext.NodeKind{usertext.List, usertext.Text}, item: entry, rule: sourceRule, line: true}
	for _, f := range []*valueForm{
		all, entry, source, single, uri, patterns, patterns.item, entry.keys["name"], entry.keys["target"],
		entry.keys["sha256"], entry.keys["wait"], entry.keys["unpack"],
	} {
		f.serves = true
	}
	return all
}

// weightName is the form of names of weights: one part of a path, as Cog has it.
var weightName = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+([._-][a-z0-9]+)*$`) })

func weightNameRule(n *usertext.Node) (what, fix string) {
	if !weightName().MatchString(n.Text) || len(n.Text) > maxWeightName {
		return fmt.Sprintf("invalid name %.60q", n.Text),
			"write lower-case letters and digits, with single dots, hyphens or underscores between them"
	}
	return "", ""
}

const maxWeightName = 128

func sha256Rule(n *usertext.Node) (what, fix string) {
	if !weights.IsSHA256(n.Text) {
		return fmt.Sprintf("invalid SHA-256 %.80q", n.Text), "write its 64 lower-case hexadecimal digits, as sha256sum prints them"
	}
	return "", ""
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
	if err := weights.CheckURI(n.Text); err != nil && slices.Contains(weights.Schemes(), scheme) {
		return err.Error(), "write it as scheme://server/path/file, without a user: cog.yaml becomes part of the image"
	}
	if host, _, _ := strings.Cut(rest, "/"); strings.Contains(host, "@") && !strings.HasPrefix(scheme, "h") {
		return "the URL has a user or a password", "remove it: cog.yaml becomes part of the image"
	}
	return "", ""
}

func patternRule(n *usertext.Node) (what, fix string) {
	if _, err := path.Match(strings.TrimPrefix(n.Text, "!"), ""); err != nil {
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
			w.SHA256 = textOf(item.Get("sha256")).Value
			w.Unpack = isTrue(item.Get("unpack"))
			w.NoWait = item.Get("wait") != nil && item.Get("wait").Kind != usertext.Null && !isTrue(item.Get("wait"))
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
		s.URI, s.text = textOf(n).Value, true
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

// weights checks entries that exclude each other, or that could not be fetched, and keeps those that a server fetches.
func (c *CogYAMLReport) weights() {
	report := c.reporter(&valueForm{serves: true})
	names, places := map[string]int{}, map[string]Weight{}
	for _, w := range weightsOf(c.root.Get("weights")) {
		if line, again := names[w.Name]; again && w.Name != "" {
			report(w.Line, fmt.Sprintf("weights: another entry has the name %s, in line %d", w.Name, line),
				"give each entry its own name")
		}
		names[w.Name] = w.Line
		if !c.strict { // package image checks them itself
			c.localWeights(w)
		}
		if w.Target == "" {
			continue
		}
		at := c.target(w, report)
		for place, other := range places {
			switch {
			case at == "":
			case place == at:
				report(w.Line, fmt.Sprintf("weights: another entry has the target %s, in line %d", w.Target, other.Line),
					"give each entry its own target; an entry may have a list of sources")
			case within(place, at) || within(at, place):
				report(w.Line, fmt.Sprintf("weights: the targets %s and %s, in line %d, are one in the other", w.Target,
					other.Target, other.Line), "give them folders side by side")
			}
		}
		if at != "" {
			places[at] = w
		}
		if at != "" && !c.strict {
			c.served(w, at, report)
		}
	}
	if !c.strict {
		c.readLock(slices.Collect(maps.Keys(names)))
	}
}

// readLock reads the lock of weights, and finds what it has other than cog.yaml.
func (c *CogYAMLReport) readLock(named []string) {
	if len(named) == 0 {
		return
	}
	add := func(line int, what, fix string) {
		p := Problem{File: weights.LockFile, Line: line, What: what, Fix: fix}
		c.Problems, c.unusable = append(c.Problems, p), append(c.unusable, p)
	}
	data, err := usertext.ReadFile(filepath.Join(c.dir, weights.LockFile), weights.MaxLock)
	if errors.Is(err, fs.ErrNotExist) {
		return
	}
	if err != nil {
		add(0, usertext.Reason(err).Error(),
			fmt.Sprintf("make it a file that can be read, of %d MiB at most", weights.MaxLock>>20))
		return
	}
	if c.lock, err = weights.ParseLock(data); err != nil {
		if wrong, is := errors.AsType[*weights.LockError](err); is {
			add(wrong.Line, wrong.What, "run 'pinion weights lock' or 'cog weights import' after you have moved it away")
		}
		return
	}
	for _, d := range c.lock.Compare(named, c.fetched) {
		add(d.Line, d.What, "run 'pinion weights lock', if cog.yaml is right")
	}
}

// target returns where weights lie on this machine, or "" for a target that is wrong. The folder /src of an image is
// the model's.
func (c *CogYAMLReport) target(w Weight, report func(line int, what, fix string)) string {
	const image = "/src"
	target := path.Clean(w.Target)
	switch {
	case target == "/" || target == "." || target == image:
		report(w.Line, fmt.Sprintf("weights: the target %s is no folder for weights alone", w.Target),
			"name a folder below it, as weights/base")
		return ""
	case !path.IsAbs(target):
		if target == ".." || strings.HasPrefix(target, "../") {
			report(w.Line, fmt.Sprintf("weights: the target %s is outside of the model's folder", w.Target),
				"name a place below the folder, or an absolute path")
			return ""
		}
		return filepath.Join(c.dir, target)
	case within(image, target):
		return filepath.Join(c.dir, strings.TrimPrefix(target, image))
	}
	return target
}

// within reports whether a path is below a folder.
func within(folder, place string) bool { return strings.HasPrefix(place, folder+"/") }

// served keeps an entry that a server fetches.
func (c *CogYAMLReport) served(w Weight, at string, report func(line int, what, fix string)) {
	of := weights.Weight{
		Name: w.Name, Target: at, Written: w.Target, SHA256: w.SHA256, NoWait: w.NoWait, Unpack: w.Unpack,
		Line: w.Line,
	}
	for _, s := range w.Sources {
		scheme, _, is := strings.Cut(s.URI, "://")
		switch {
		case is && !slices.Contains(weights.Schemes(), scheme):
			if slices.Contains(sourceSchemes(), scheme) {
				c.warn(s.Line, fmt.Sprintf("weights: the server does not fetch from %s://", scheme),
					"mount a volume at the target, or fetch them in setup")
			}
			return
		case s.Remote() && w.Name == "":
			report(w.Line, "weights: an entry has no name", "write name:, by which the model asks for the weights")
			return
		case len(w.Sources) == 1 && !s.Remote() && weights.IsPlace(c.dir, s.Source, at):
			return // they lie where they are read
		}
		of.Sources = append(of.Sources, s.Source)
	}
	if w.Name == "" || len(of.Sources) == 0 {
		return
	}
	for _, s := range w.Sources {
		if name := weights.FileName(s.URI); w.Unpack && name != "" && s.Remote() && !weights.IsArchive(name) {
			report(s.Line, fmt.Sprintf("weights: unpack: %s is no archive", name),
				"remove unpack, or name a file that ends with "+strings.Join(weights.Archives(), ", "))
			return
		}
	}
	of.IsFile = len(of.Sources) == 1 && !w.Unpack && c.isFile(w)
	c.fetched = append(c.fetched, of)
}

// isFile reports whether a target is a file: that of a URL or path which is written as a text and has its base name, or
// that of a file of this machine, which an image has at the target too.
func (c *CogYAMLReport) isFile(w Weight) bool {
	s, name := w.Sources[0], path.Base(path.Clean(w.Target))
	if s.Remote() {
		return s.text && weights.FileName(s.URI) == name
	}
	info, err := os.Stat(below(c.dir, s.Path()))
	return err == nil && info.Mode().IsRegular() || err != nil && s.text && path.Base(s.Path()) == name
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
		if !s.Filters() {
			continue
		}
		if files, err := s.Files(place); err == nil && len(files) == 0 {
			what, fix := NoFiles(s.URI)
			c.warn(s.Line, what, fix)
		}
	}
}
