package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
)

// blank is a place in a pattern that stands for many texts.
var blank = regexp.MustCompile(`<(id|time|number|int|any)>`)

// meaning is the expression that a blank stands for.
func meaning(name string) string {
	switch name {
	case "id":
		return `[0-9a-z]{26}`
	case "time":
		return `\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)`
	case "number":
		return `-?\d+(\.\d+)?([eE][+-]?\d+)?`
	case "int":
		return `-?\d+`
	}
	return `[\s\S]*?`
}

// fits reports whether text is what the pattern says, byte for byte except for its blanks.
func fits(pattern, text string) bool {
	var expression strings.Builder
	expression.WriteString(`\A`)
	rest := 0
	for _, at := range blank.FindAllStringSubmatchIndex(pattern, -1) {
		expression.WriteString(regexp.QuoteMeta(pattern[rest:at[0]]))
		expression.WriteString(meaning(pattern[at[2]:at[3]]))
		rest = at[1]
	}
	expression.WriteString(regexp.QuoteMeta(pattern[rest:]) + `\z`)
	return regexp.MustCompile(expression.String()).MatchString(text)
}

// has says why JSON text does not have all that a pattern names; nil means it has.
func has(pattern, text string) error {
	var want, got any
	if err := decode(pattern, &want); err != nil {
		return fmt.Errorf("read the pattern %s: %w", pattern, err)
	}
	if err := decode(text, &got); err != nil {
		return fmt.Errorf("not JSON: %w", err)
	}
	return missing("", want, got)
}

func decode(text string, to any) error {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	return decoder.Decode(to)
}

func missing(at string, want, got any) error {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		if !ok {
			return fmt.Errorf("%s is not an object", at)
		}
		for name, value := range w {
			member, there := g[name]
			if !there {
				return fmt.Errorf("%s.%s is missing", at, name)
			}
			if err := missing(at+"."+name, value, member); err != nil {
				return err
			}
		}
		return nil
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Errorf("%s is not a list of %d", at, len(w))
		}
		for i := range w {
			if err := missing(fmt.Sprintf("%s[%d]", at, i), w[i], g[i]); err != nil {
				return err
			}
		}
		return nil
	case string:
		if g, ok := got.(string); ok && fits(w, g) || blank.MatchString(w) && fits(w, shown(got)) {
			return nil
		}
	default:
		if shown(want) == shown(got) {
			return nil
		}
	}
	return fmt.Errorf("%s is %s, not %s", at, shown(got), shown(want))
}

func shown(value any) string {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(value) // it was decoded from JSON
	return strings.TrimSuffix(out.String(), "\n")
}
