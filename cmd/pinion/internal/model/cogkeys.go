package model

import (
	"fmt"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"pinion/cmd/pinion/internal/usertext"
	"pinion/runtime/nearest"
)

// valueForm is what may stand at a place of cog.yaml.
type valueForm struct {
	kinds []usertext.NodeKind   // nil means anything
	keys  map[string]*valueForm // of a mapping; nil means any
	item  *valueForm            // of a list
	words []string              // all texts that may stand there; nil means any
	// rule says what is wrong with a value of the right kind, and what would be right, or "" for nothing.
	rule func(n *usertext.Node) (what, fix string)
	// line means that it becomes part of one line of the Dockerfile or of a list of files.
	line bool
	// serves means that a server uses it, so that a mistake in it is one for serving too. What only concerns building
	// an image is warned of.
	serves bool
}

// allows reports whether a value is of one of the kinds.
func (f *valueForm) allows(n *usertext.Node) bool {
	if f.kinds == nil || n.Kind == usertext.Null || slices.Contains(f.kinds, n.Kind) {
		return true
	}
	return n.Kind == usertext.Text && slices.Contains(f.kinds, usertext.Bool) && isOldBool(n.Text)
}

// oneLine says what is wrong with a text that could begin lines of its own in the Dockerfile, or "" for nothing.
func (f *valueForm) oneLine(n *usertext.Node) (what, fix string) {
	if !f.line || !strings.ContainsFunc(strings.TrimSpace(n.Text),
		func(r rune) bool { return unicode.IsControl(r) && r != '\t' }) {
		return "", ""
	}
	return fmt.Sprintf("%.60q has a line break or another control character, which an image cannot be built with", n.Text),
		"write it in one line; of a list, each item by itself"
}

// isTrue reports whether a value is true, in either version of YAML.
func isTrue(n *usertext.Node) bool {
	return n != nil && isOldTrue(n.Text) && (n.Kind == usertext.Bool || n.Kind == usertext.Text)
}

func isOldTrue(text string) bool {
	return slices.Contains([]string{"true", "y", "yes", "on"}, strings.ToLower(text))
}

// isOldBool reports whether a word is a boolean of YAML 1.1, which Cog takes for one where it wants one.
func isOldBool(text string) bool {
	return slices.Contains([]string{"y", "yes", "on", "n", "no", "off"}, strings.ToLower(text))
}

// wanted names the kinds for a message. Where a text may stand, numbers and booleans of YAML are texts too.
func (f *valueForm) wanted() string {
	var words []string
	for _, kind := range f.kinds {
		if f.kinds[0] != usertext.Text || kind != usertext.Number && kind != usertext.Bool {
			words = append(words, kind.String())
		}
	}
	return strings.Join(words, " or ")
}

// cogForm returns what a cog.yaml may hold: what Cog knows, in this version or an older one, and what we know.
func cogForm() *valueForm {
	text := func(rule func(*usertext.Node) (string, string)) *valueForm {
		// words of a text, all of them
		return &valueForm{kinds: []usertext.NodeKind{usertext.Text, usertext.Number, usertext.Bool}, rule: rule}
	}
	line := func(rule func(*usertext.Node) (string, string)) *valueForm {
		f := text(rule)
		f.line = true
		return f
	}
	list := func(item *valueForm) *valueForm {
		return &valueForm{kinds: []usertext.NodeKind{usertext.List}, item: item}
	}
	texts := list(line(nil))
	toggle := &valueForm{kinds: []usertext.NodeKind{usertext.Bool}}
	build := mapping(map[string]*valueForm{
		"cog_runtime": toggle, "cuda": text(cudaRule), "cudnn": text(numbersRule("cuDNN version", "8 or 8.9")),
		"fast": toggle, "gpu": toggle,
		"pre_install": list(text(nil)), "python_extra_index_urls": texts, "python_find_links": texts,
		"python_packages":     texts,
		"python_requirements": line(nil), "python_version": text(pythonRule),
		"run":         {kinds: []usertext.NodeKind{usertext.List}, item: buildStep()},
		"sdk_version": text(numbersRule("version of Cog's package", "0.18.0")), "system_packages": texts,
	})
	served := func(f *valueForm) *valueForm { f.serves = true; return f }
	traces := mapping(map[string]*valueForm{
		"enabled":     served(&valueForm{kinds: []usertext.NodeKind{usertext.Bool}}),
		"sampler":     served(choice(samplers()...)),
		"sampler_arg": served(text(ratioRule)), "trace_header": served(text(nil)),
		"trace_header_format": served(choice("w3c", "jaeger")),
	})
	metrics := mapping(map[string]*valueForm{"enabled": served(&valueForm{kinds: []usertext.NodeKind{usertext.Bool}})})
	for _, f := range []*valueForm{traces, metrics} {
		f.kinds, f.serves = append(f.kinds, usertext.Bool), true
	}
	return mapping(map[string]*valueForm{
		"build": build,
		"concurrency": served(mapping(map[string]*valueForm{
			"default_target": {kinds: []usertext.NodeKind{usertext.Number}}, "max": served(count(maxConcurrency)),
		})),
		"description": text(nil),
		"environment": served(list(served(line(environmentRule)))),
		"image":       served(line(nil)), // the page has the model's name from it
		"logo":        served(line(logoRule)),
		"model":       {},
		"observability": served(mapping(map[string]*valueForm{
			"config": served(text(nil)), "metrics": metrics, "traces": traces,
		})),
		"none_defaults": served(choice(string(noneRequired), string(NoneOptional))),
		"predict":       served(text(nil)),
		"ranks":         served(count(maxRanks)),
		"run":           served(text(nil)),
		"tests":         {},
		"train":         served(text(nil)),
		"weights":       weightsForm(line),
	})
}

func mapping(keys map[string]*valueForm) *valueForm {
	return &valueForm{kinds: []usertext.NodeKind{usertext.Mapping}, keys: keys}
}

func buildStep() *valueForm {
	text := &valueForm{kinds: []usertext.NodeKind{usertext.Text}}
	word := &valueForm{kinds: []usertext.NodeKind{usertext.Text}, line: true}
	mount := mapping(map[string]*valueForm{
		"id": word, "target": word,
		"type": choice("secret", "cache"),
	})
	step := mapping(map[string]*valueForm{
		"command": text,
		"mounts":  {kinds: []usertext.NodeKind{usertext.List}, item: mount},
	})
	step.kinds = append([]usertext.NodeKind{usertext.Text}, step.kinds...)
	step.rule = func(n *usertext.Node) (string, string) {
		if n.Kind == usertext.Mapping && n.Get("command") == nil {
			return "missing command", "write command: and what is to be run"
		}
		return "", ""
	}
	return step
}

// choice returns the form of a value that is one of words.
func choice(words ...string) *valueForm {
	return &valueForm{kinds: []usertext.NodeKind{usertext.Text}, words: words, rule: oneOf(words...)}
}

func samplers() []string {
	return []string{
		"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off",
		"parentbased_traceidratio",
	}
}

const (
	maxConcurrency = 1<<31 - 1
	maxRanks       = 64
)

func count(most float64) *valueForm {
	return &valueForm{kinds: []usertext.NodeKind{usertext.Number}, rule: func(n *usertext.Node) (string, string) {
		switch {
		case n.Number >= 1 && n.Number <= most && (most == maxConcurrency || n.Number == math.Trunc(n.Number)):
			return "", ""
		case most == maxConcurrency:
			return fmt.Sprintf("invalid value %.30s", n.Text), "give a whole number of at least 1"
		default:
			return fmt.Sprintf("invalid value %.30s", n.Text), fmt.Sprintf("give a whole number from 1 to %.0f", most)
		}
	}}
}

func oneOf(words ...string) func(*usertext.Node) (string, string) {
	return func(n *usertext.Node) (string, string) {
		if slices.Contains(words, n.Text) {
			return "", ""
		}
		fix := "write one of " + strings.Join(words, ", ")
		if near := nearest.Word(n.Text, words); near != "" {
			fix = fmt.Sprintf("did you mean %q?", near)
		}
		return fmt.Sprintf("unknown value %q", n.Text), fix
	}
}

func ratioRule(n *usertext.Node) (string, string) {
	if v, err := strconv.ParseFloat(n.Text, 64); err != nil || !(v >= 0 && v <= 1) {
		return fmt.Sprintf("invalid ratio %q", n.Text), `give a number from "0" to "1"`
	}
	return "", ""
}

// logoRule checks the file of a logo, which the page at /docs shows.
func logoRule(n *usertext.Node) (string, string) {
	if !filepath.IsLocal(n.Text) {
		return fmt.Sprintf("%.60q is not a path in the model's folder", n.Text),
			"give the picture's path in the folder, as logo.png"
	}
	if !slices.Contains([]string{".png", ".jpg", ".jpeg", ".svg", ".webp", ".gif"},
		strings.ToLower(filepath.Ext(n.Text))) {
		return fmt.Sprintf("%.60q is not a picture that browsers show", n.Text),
			"give a file that ends with .png, .jpg, .svg, .webp or .gif"
	}
	return "", ""
}

func environmentRule(n *usertext.Node) (string, string) {
	if name, value, ok := strings.Cut(n.Text, "="); !ok || !variableName().MatchString(name) ||
		strings.ContainsRune(value, 0) {
		return fmt.Sprintf("%.60q is not NAME=value", n.Text),
			"write it as NAME=value, with a name of letters, digits and _, one in a line"
	}
	return "", ""
}

// variableName is a name that a shell, a Dockerfile and a process' environment take.
var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`) })

// versionNumbers is a version of numbers alone, with what may follow them.
var versionNumbers = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^([0-9]+)((\.[0-9]+)*)([-.+]?[A-Za-z][A-Za-z0-9.+-]*)?$`)
})

func numbersRule(noun, example string) func(*usertext.Node) (string, string) {
	return func(n *usertext.Node) (string, string) {
		if !versionNumbers().MatchString(strings.TrimSpace(n.Text)) {
			return fmt.Sprintf("invalid %s %q", noun, n.Text), "write it as " + example
		}
		return "", ""
	}
}

// pythonVersion is a version of Python as cog.yaml has it: 3.12 or 3.12.1.
var pythonVersion = sync.OnceValue(
	func() *regexp.Regexp { return regexp.MustCompile(`^3\.([0-9]{1,2})(\.[0-9]+([ab]|rc)?[0-9]*)?$`) })

func pythonRule(n *usertext.Node) (string, string) {
	const fix = `write the minor or patch version in quotes, as "3.12" or "3.12.1"`
	text := strings.TrimSpace(n.Text)
	if !pythonVersion().MatchString(text) {
		return fmt.Sprintf("invalid Python version %q", n.Text), fix
	}
	return "", ""
}

func cudaRule(n *usertext.Node) (string, string) {
	parts := strings.Split(strings.TrimSpace(n.Text), ".")
	major, err := strconv.Atoi(parts[0])
	if err != nil || len(parts) < 2 || !versionNumbers().MatchString(n.Text) {
		return fmt.Sprintf("invalid CUDA version %q", n.Text),
			`write the minor or patch version in quotes, as "12.4" or "12.4.1"`
	}
	if major < 9 {
		return fmt.Sprintf("there are no images for CUDA %s", n.Text), "choose a newer version, such as 12.4"
	}
	return "", ""
}
