package config

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/nearest"
)

// The keys of the file itself.
const (
	keyDefault = "default"
	keyMemory  = "memory"
	keyModels  = "models"
	keyTraffic = "traffic"
	keyMirror  = "mirror"
	keyPath    = "path" // of a model
)

// ModelsFile is what the file says.
type ModelsFile struct {
	Path    string         // of the file
	dir     string         // its folder
	Default string         // the model that also answers at the root
	Memory  usertext.Bytes // what loaded models may have together; 0 means any
	Models  []FileModel    // in their order
	Traffic Traffic        // nil means the first version of each model serves
	Mirrors []string       // the versions that get copies of requests
	none    error          // the mistake that the file names no model, where SageMaker loads none
}

// FileModel is one model of the file.
type FileModel struct {
	Name string
	Dir  string // absolute
	Line int
	Keys []FileKey // all but its path, in their order
}

// FileKey is a key of a model, and its value as it is written.
type FileKey struct {
	Name, Value string
	Line        int
}

// fileKeys are the keys that the caller knows.
type fileKeys struct {
	Model  []string // of a model, beside path
	Server []string // flags that belong to the server, and so to the command line
}

// modelName has the form of names on hubs: meta-llama/Llama-3.1-8B-Instruct, qwen2.5:7b.
var modelName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:-]*(/[A-Za-z0-9_][A-Za-z0-9._:-]*)*$`)
})

const longestModelName = 200

// modelNameForm describes the names that a model may have.
const modelNameForm = "a name is 1 to 200 of a-z A-Z 0-9 . _ - : and /, and begins with a letter or digit"

// versionNameForm describes the names that a version of a model may have.
const versionNameForm = modelNameForm + "; a version follows it as in NAME@2"

// IsModelName reports whether text may be the name of a model.
func IsModelName(text string) bool {
	return len(text) <= longestModelName && modelName().MatchString(text)
}

// ReadModelsFile reads a file. The error names every mistake in its form, and is a *FileError where the file can be
// read at all.
func ReadModelsFile(path string, words fileKeys) (*ModelsFile, error) {
	data, err := usertext.ReadFile(path, usertext.MaxText)
	if err != nil {
		return nil, fmt.Errorf("read the models of the server: %w", err)
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("find the folder of %s: %w", path, err)
	}
	return parseModelsFile(data, path, dir, words)
}

func parseModelsFile(data []byte, path, dir string, words fileKeys) (*ModelsFile, error) {
	r := modelsFileReader{words: words, file: &ModelsFile{Path: path, dir: dir}, mistakes: FileError{File: path}}
	documents, err := usertext.ParseYAML(data)
	switch {
	case err != nil:
		var fault *usertext.SyntaxError
		errors.As(err, &fault)
		r.mistakes.Add(fault.Line, fault.What, "fix the YAML; keys and values are written as key: value")
	case len(documents) == 0:
		r.mistakes.Add(0, "the file is empty", "name the models under "+keyModels+", each as NAME: {path: DIR}")
	case len(documents) > 1:
		r.mistakes.Add(documents[1].Line, "another YAML document begins here",
			"remove the line --- before it, or what follows")
	default:
		r.root(documents[0])
	}
	return r.file, r.mistakes.OrNil()
}

type modelsFileReader struct {
	words    fileKeys
	file     *ModelsFile
	mistakes FileError
}

func (r *modelsFileReader) root(n *usertext.Node) {
	if !r.is(n, usertext.Mapping, "the file") {
		return
	}
	lines := map[string]int{} // of keys that name models
	for _, entry := range n.Entries {
		switch {
		case r.again("", entry):
		case entry.Key == keyDefault:
			if r.scalar(entry) {
				r.file.Default, lines[keyDefault] = entry.Value.Text, entry.Line
			}
		case entry.Key == keyMemory:
			if r.scalar(entry) {
				if err := r.file.Memory.Set(entry.Value.Text); err != nil {
					r.mistakes.Add(entry.Line, "memory: "+err.Error(), "write it as memory: 20GiB")
				}
			}
		case entry.Key == keyModels:
			r.models(entry)
		case entry.Key == keyTraffic:
			lines[keyTraffic] = entry.Line
			r.traffic(entry)
		case entry.Key == keyMirror:
			lines[keyMirror] = entry.Line
			r.mirror(entry)
		case strings.HasPrefix(entry.Key, "x-"): // such as hold anchors
		default:
			r.unknown("", entry, rootKeys())
		}
	}
	r.settleDefault(n, lines[keyDefault])
	names := r.file.names()
	r.check(lines[keyTraffic], keyTraffic, CheckTraffic(r.file.Traffic, names))
	r.check(lines[keyMirror], keyMirror, checkMirrors(r.file.Mirrors, names))
}

func rootKeys() []string { return []string{keyDefault, keyMemory, keyModels, keyTraffic, keyMirror} }

func (r *modelsFileReader) check(line int, key string, err error) {
	if err != nil {
		r.mistakes.Add(line, key+": "+err.Error(), "")
	}
}

// traffic reads the shares of versions.
func (r *modelsFileReader) traffic(traffic usertext.Entry) {
	if !r.is(traffic.Value, usertext.Mapping, keyTraffic) {
		return
	}
	r.file.Traffic = Traffic{}
	for _, entry := range traffic.Value.Entries {
		if r.again(keyTraffic+": ", entry) {
			continue
		}
		share, err := strconv.Atoi(entry.Value.Text)
		if entry.Value.Kind != usertext.Number || err != nil {
			r.mistakes.Add(entry.Line, fmt.Sprintf("traffic: invalid share of %s: must be a whole number", entry.Key),
				"write it in percent, as "+entry.Key+": 10")
			continue
		}
		r.file.Traffic[WithVersion(entry.Key)] = share
	}
}

// mirror reads the version, or the versions, that get copies of requests.
func (r *modelsFileReader) mirror(mirror usertext.Entry) {
	list := []*usertext.Node{mirror.Value}
	if mirror.Value.Kind == usertext.List {
		list = mirror.Value.Items
	}
	for _, n := range list {
		if n.Kind != usertext.Text {
			r.mistakes.Add(n.Line, fmt.Sprintf("mirror is %s: must be a version", n.Kind), "write it as mirror: NAME@2")
			continue
		}
		r.file.Mirrors = append(r.file.Mirrors, WithVersion(n.Text))
	}
}

// settleDefault finds the default model, and refuses an unknown name.
func (r *modelsFileReader) settleDefault(n *usertext.Node, line int) {
	names := r.file.names()
	// a default may name a model with versions, of which the first one stands for all
	for _, name := range r.file.names() {
		model, _, _ := SplitVersion(name)
		if r.file.Default == model {
			r.file.Default = name
			break
		}
	}
	switch {
	case n.Get(keyModels) == nil:
		r.mistakes.Add(0, "the file has no "+keyModels, "name them under "+keyModels+", each as NAME: {path: DIR}")
	case r.file.Default == "":
		if len(names) > 0 {
			r.file.Default = names[0]
		}
	case !slices.Contains(names, r.file.Default):
		r.mistakes.Add(line, fmt.Sprintf("default: unknown model %q", r.file.Default),
			r.advise(r.file.Default, names, "the models are "))
	}
}

func (r *modelsFileReader) models(models usertext.Entry) {
	if !r.is(models.Value, usertext.Mapping, keyModels) {
		return
	}
	for _, entry := range models.Value.Entries {
		switch {
		case r.again(keyModels+": ", entry):
		case !IsVersionName(entry.Key):
			r.mistakes.Add(entry.Line, fmt.Sprintf("invalid model name %q", entry.Key), versionNameForm)
		case slices.ContainsFunc(r.file.names(),
			func(name string) bool { return WithVersion(name) == WithVersion(entry.Key) }):
			r.mistakes.Add(entry.Line, fmt.Sprintf("models: %q and %q are one version", entry.Key, WithVersion(entry.Key)),
				"give each its own version, as NAME@2")
		case entry.Value.Kind != usertext.Mapping:
			r.mistakes.Add(entry.Line, fmt.Sprintf("%s is %s: must be a mapping", entry.Key, entry.Value.Kind),
				"write it as "+entry.Key+": {path: DIR}")
		default:
			r.model(entry)
		}
	}
	if len(models.Value.Entries) == 0 {
		none := &FileError{File: r.file.Path}
		none.Add(models.Line, keyModels+" is empty", "name them below it, each as NAME: {path: DIR}")
		r.file.none = none
	}
}

func (r *modelsFileReader) model(entry usertext.Entry) {
	m := FileModel{Name: entry.Key, Line: entry.Line}
	for _, key := range entry.Value.Entries {
		switch {
		case r.again(m.Name+": ", key):
		case key.Key == keyPath:
			if r.scalar(key) {
				m.Dir = r.file.Below(key.Value.Text)
			}
		case strings.HasPrefix(key.Key, "x-"):
		case slices.Contains(r.words.Model, key.Key):
			if r.scalar(key) {
				m.Keys = append(m.Keys, FileKey{key.Key, key.Value.Text, key.Line})
			}
		default:
			r.unknown(m.Name+": ", key, append([]string{keyPath}, r.words.Model...))
		}
	}
	if entry.Value.Get(keyPath) == nil {
		r.mistakes.Add(entry.Line, m.Name+" has no path", "add path: DIR, the folder that holds its cog.yaml")
	}
	r.file.Models = append(r.file.Models, m)
}

// again refuses a key that is given twice.
func (r *modelsFileReader) again(prefix string, entry usertext.Entry) bool {
	if entry.Again {
		r.mistakes.Add(entry.Line, fmt.Sprintf("%s%q is given twice, first in line %d", prefix, entry.Key, entry.First),
			"remove one of them")
	}
	return entry.Again
}

// is refuses a value of another kind.
func (r *modelsFileReader) is(n *usertext.Node, kind usertext.NodeKind, what string) bool {
	if n.Kind != kind {
		r.mistakes.Add(n.Line, fmt.Sprintf("%s is %s: must be %s", what, n.Kind, kind),
			"write its keys below it, each as key: value")
	}
	return n.Kind == kind
}

// scalar refuses what is not one value.
func (r *modelsFileReader) scalar(entry usertext.Entry) bool {
	switch entry.Value.Kind {
	case usertext.Text, usertext.Number, usertext.Bool:
		return true
	}
	r.mistakes.Add(entry.Line, fmt.Sprintf("%s is %s: must be one value", entry.Key, entry.Value.Kind),
		"write it as "+entry.Key+": VALUE")
	return false
}

func (r *modelsFileReader) unknown(prefix string, entry usertext.Entry, known []string) {
	what := fmt.Sprintf("%sunknown key %q", prefix, entry.Key)
	if slices.Contains(r.words.Server, entry.Key) {
		r.mistakes.Add(entry.Line, what,
			fmt.Sprintf("it belongs to the server: give it on the command line, as --%s", entry.Key))
		return
	}
	if prefix != "" && (entry.Key == keyTraffic || entry.Key == keyMirror) {
		r.mistakes.Add(entry.Line, what, "it belongs to the file: write it beside "+keyModels)
		return
	}
	if prefix == "" && slices.Contains(r.words.Model, entry.Key) {
		r.mistakes.Add(entry.Line, what,
			"it belongs to a model: write it below its name, or give it for all on the command line, as --"+entry.Key)
		return
	}
	r.mistakes.Add(entry.Line, what, r.advise(entry.Key, known, "the keys here are "))
}

// advise names the nearest known word, or lists all of them after listing.
func (r *modelsFileReader) advise(word string, known []string, listing string) string {
	if near := nearest.Word(word, known); near != "" {
		return fmt.Sprintf("did you mean %q?", near)
	}
	return listing + strings.Join(slices.Sorted(slices.Values(known)), ", ")
}

func (f *ModelsFile) names() (names []string) {
	for _, m := range f.Models {
		names = append(names, m.Name)
	}
	return names
}

// Below returns a path that the file names, from the file's folder.
func (f *ModelsFile) Below(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(f.dir, path)
}
