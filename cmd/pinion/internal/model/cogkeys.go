package model

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"pinion/cmd/pinion/internal/nearest"
)

// valueForm is what may stand at a place of cog.yaml.
type valueForm struct {
	kinds []yamlKind            // nil: anything
	keys  map[string]*valueForm // of a mapping; nil: any
	item  *valueForm            // of a list
	// rule says what is wrong with a value of the right kind, and what would be right; "" for nothing.
	rule func(n *yamlNode) (what, mend string)
	// serves: a server uses it, so that a mistake in it is one for serving too. What only concerns building an image is
	// warned of.
	serves bool
}

// allows tells whether a value is of a kind that may stand there.
func (f *valueForm) allows(n *yamlNode) bool {
	if f.kinds == nil || n.kind == yamlNull || slices.Contains(f.kinds, n.kind) {
		return true
	}
	return n.kind == yamlText && slices.Contains(f.kinds, yamlBool) && isOldBool(n.text)
}

// isTrue tells whether a value is true, in either version of YAML.
func (n *yamlNode) isTrue() bool {
	return n != nil && isOldTrue(n.text) && (n.kind == yamlBool || n.kind == yamlText)
}

func isOldTrue(text string) bool {
	return slices.Contains([]string{"true", "y", "yes", "on"}, strings.ToLower(text))
}

// isOldBool tells whether a word is a boolean of YAML 1.1, which Cog takes for one where it wants one.
func isOldBool(text string) bool {
	return slices.Contains([]string{"y", "yes", "on", "n", "no", "off"}, strings.ToLower(text))
}

// wanted are the kinds in words.
func (f *valueForm) wanted() string {
	var words []string
	for _, kind := range f.kinds {
		if !f.isText() || kind == yamlText || kind == yamlMapping {
			words = append(words, kind.String())
		}
	}
	return strings.Join(words, " or ")
}

// isText: words that are numbers or booleans to YAML are texts as well there.
func (f *valueForm) isText() bool { return f.kinds[0] == yamlText }

// cogForm is what a cog.yaml may hold: what Cog knows, in this version or an older one, and what we know.
func cogForm() *valueForm {
	text := func(rule func(*yamlNode) (string, string)) *valueForm {
		return &valueForm{kinds: []yamlKind{yamlText, yamlNumber, yamlBool}, rule: rule} // words of a text, all of them
	}
	texts := &valueForm{kinds: []yamlKind{yamlList}, item: text(nil)}
	toggle := &valueForm{kinds: []yamlKind{yamlBool}}
	build := mapping(map[string]*valueForm{
		"cog_runtime": toggle, "cuda": text(cudaRule), "cudnn": text(numbersRule("version of cuDNN", "8 or 8.9")), "fast": toggle, "gpu": toggle,
		"pre_install": texts, "python_extra_index_urls": texts, "python_find_links": texts, "python_packages": texts,
		"python_requirements": text(nil), "python_version": text(pythonRule), "run": {kinds: []yamlKind{yamlList}, item: buildStep()},
		"sdk_version": text(numbersRule("version of Cog's package", "0.18.0")), "system_packages": texts,
	})
	served := func(f *valueForm) *valueForm { f.serves = true; return f }
	traces := mapping(map[string]*valueForm{
		"enabled": served(&valueForm{kinds: []yamlKind{yamlBool}}), "sampler": served(text(oneOf(samplers()...))),
		"sampler_arg": served(text(ratioRule)), "trace_header": served(text(nil)), "trace_header_format": served(text(oneOf("w3c", "jaeger"))),
	})
	metrics := mapping(map[string]*valueForm{"enabled": served(&valueForm{kinds: []yamlKind{yamlBool}})})
	for _, f := range []*valueForm{traces, metrics} {
		f.kinds, f.serves = append(f.kinds, yamlBool), true
	}
	return mapping(map[string]*valueForm{
		"build":       build,
		"concurrency": served(mapping(map[string]*valueForm{"default_target": {kinds: []yamlKind{yamlNumber}}, "max": served(count())})),
		"description": text(nil),
		"environment": served(&valueForm{kinds: []yamlKind{yamlList}, item: served(text(environmentRule))}),
		"image":       served(text(nil)), // the page has the model's name from it
		"model":       {},
		"observability": served(mapping(map[string]*valueForm{
			"config": served(text(nil)), "metrics": metrics, "traces": traces,
		})),
		"none_defaults": served(text(oneOf(string(noneRequired), string(NoneOptional)))),
		"predict":       served(text(nil)),
		"run":           served(text(nil)),
		"tests":         {},
		"train":         served(text(nil)),
		"weights": {kinds: []yamlKind{yamlList, yamlText}, item: &valueForm{
			kinds: []yamlKind{yamlText, yamlMapping}, keys: map[string]*valueForm{"name": {}, "source": {}, "target": {}},
		}},
	})
}

func mapping(keys map[string]*valueForm) *valueForm {
	return &valueForm{kinds: []yamlKind{yamlMapping}, keys: keys}
}

// buildStep is a command of build.run.
func buildStep() *valueForm {
	text := &valueForm{kinds: []yamlKind{yamlText}}
	mount := mapping(map[string]*valueForm{"id": text, "target": text, "type": {kinds: []yamlKind{yamlText}, rule: oneOf("secret", "cache")}})
	step := mapping(map[string]*valueForm{"command": text, "mounts": {kinds: []yamlKind{yamlList}, item: mount}})
	step.kinds = append([]yamlKind{yamlText}, step.kinds...)
	step.rule = func(n *yamlNode) (string, string) {
		if n.kind == yamlMapping && n.get("command") == nil {
			return "it has no command", "write command: and what is to be run"
		}
		return "", ""
	}
	return step
}

func samplers() []string {
	return []string{"always_on", "always_off", "traceidratio", "parentbased_always_on", "parentbased_always_off", "parentbased_traceidratio"}
}

// count is a number of at least 1.
func count() *valueForm {
	return &valueForm{kinds: []yamlKind{yamlNumber}, rule: func(n *yamlNode) (string, string) {
		if !(n.number >= 1) {
			return "it is " + n.text, "give a whole number of at least 1"
		}
		return "", ""
	}}
}

// oneOf wants one of some words.
func oneOf(words ...string) func(*yamlNode) (string, string) {
	return func(n *yamlNode) (string, string) {
		if slices.Contains(words, n.text) {
			return "", ""
		}
		mend := "write one of " + strings.Join(words, ", ")
		if near := nearest.Word(n.text, words); near != "" {
			mend = fmt.Sprintf("write %q, if that is what is meant", near)
		}
		return fmt.Sprintf("%q is not known", n.text), mend
	}
}

func ratioRule(n *yamlNode) (string, string) {
	if v, err := strconv.ParseFloat(n.text, 64); err != nil || !(v >= 0 && v <= 1) {
		return fmt.Sprintf("%q is no ratio", n.text), `give a number from "0" to "1"`
	}
	return "", ""
}

func environmentRule(n *yamlNode) (string, string) {
	if name, _, ok := strings.Cut(n.text, "="); !ok || name == "" {
		return fmt.Sprintf("%q is not NAME=value", n.text), "write it as NAME=value, one in a line"
	}
	return "", ""
}

// versionNumbers is a version of numbers alone, with what may follow them.
var versionNumbers = regexp.MustCompile(`^([0-9]+)((\.[0-9]+)*)([-.+]?[A-Za-z][A-Za-z0-9.+-]*)?$`)

func numbersRule(noun, example string) func(*yamlNode) (string, string) {
	return func(n *yamlNode) (string, string) {
		if !versionNumbers.MatchString(strings.TrimSpace(n.text)) {
			return fmt.Sprintf("%q is no %s", n.text, noun), "write it as " + example
		}
		return "", ""
	}
}

// pythonVersion is a version of Python as cog.yaml has it: 3.12 or 3.12.1.
var pythonVersion = regexp.MustCompile(`^3\.([0-9]{1,2})(\.[0-9]+([ab]|rc)?[0-9]*)?$`)

func pythonRule(n *yamlNode) (string, string) {
	const mend = `write the minor or patch version in quotes, as "3.12" or "3.12.1"`
	text := strings.TrimSpace(n.text)
	if !pythonVersion.MatchString(text) {
		return fmt.Sprintf("%q is no version of Python", n.text), mend
	}
	return "", ""
}

func cudaRule(n *yamlNode) (string, string) {
	parts := strings.Split(strings.TrimSpace(n.text), ".")
	major, err := strconv.Atoi(parts[0])
	if err != nil || len(parts) < 2 || !versionNumbers.MatchString(n.text) {
		return fmt.Sprintf("%q is no version of CUDA", n.text), `write the minor or patch version in quotes, as "12.4" or "12.4.1"`
	}
	if major < 9 {
		return fmt.Sprintf("there are no images for CUDA %s", n.text), "choose a newer version, such as 12.4"
	}
	return "", ""
}
