package schema

import (
	"math/big"
	"net/url"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// message enters what the library says of raw in the words that this package uses.
func (f *foreign) message(r *report, field string, raw []byte, e *jsonschema.ValidationError) {
	switch k := e.ErrorKind.(type) {
	case *kind.Type: // with which the library stops
		if list := f.options(e); list != nil && !slices.ContainsFunc(list, func(option any) bool {
			return canonical([]byte(jsonText(option))) == canonical(raw)
		}) {
			r.add(field, raw, msgEnum, jsonText(list))
		}
		addType(r, field, raw, f.typeNames(e))
	case *kind.Enum, *kind.Const:
		r.add(field, raw, msgEnum, jsonText(f.options(e)))
	case *kind.Format:
		r.add(field, raw, msgURL)
	case *kind.Minimum:
		r.add(field, raw, (&bound{}).message(), f.number(e, "minimum", k.Want))
	case *kind.Maximum:
		r.add(field, raw, (&bound{upper: true}).message(), f.number(e, "maximum", k.Want))
	case *kind.ExclusiveMinimum:
		r.add(field, raw, (&bound{exclusive: true}).message(), f.number(e, "exclusiveMinimum", k.Want))
	case *kind.ExclusiveMaximum:
		r.add(field, raw, (&bound{upper: true, exclusive: true}).message(), f.number(e, "exclusiveMaximum", k.Want))
	case *kind.MultipleOf:
		r.add(field, raw, msgMultiple, f.number(e, "multipleOf", k.Want))
	case *kind.MinLength:
		r.add(field, raw, msgShort, count(k.Want, "character", "characters"))
	case *kind.MaxLength:
		r.add(field, raw, msgLong, count(k.Want, "character", "characters"))
	case *kind.Pattern:
		r.add(field, raw, msgPattern, k.Want)
	case *kind.MinItems:
		r.add(field, raw, msgFew, count(k.Want, "item", "items"))
	case *kind.MaxItems:
		r.add(field, raw, msgMany, count(k.Want, "item", "items"))
	case *kind.MinProperties:
		r.add(field, raw, msgFew, count(k.Want, "property", "properties"))
	case *kind.MaxProperties:
		r.add(field, raw, msgMany, count(k.Want, "property", "properties"))
	case *kind.UniqueItems:
		r.add(field, raw, msgUnique)
	case *kind.Required:
		f.missing(r, field, k.Missing)
	case *kind.AdditionalProperties:
		r.addText(rootOr(field), predict.TypeValue, unexpectedText(k.Properties))
	case *kind.AnyOf:
		r.add(field, raw, msgAnyOf)
	case *kind.OneOf:
		if k.Subschemas == nil {
			r.add(field, raw, msgOneOf)
			return
		}
		r.add(field, raw, msgOneOfMany)
	case *kind.PropertyNames:
		r.add(field, raw, msgName, show(rawjson.AppendQuoted(nil, k.Property)))
	default: // the keyword says enough, and the library's own words might hold the value
		r.add(field, raw, "%s is not valid under the '%s' keyword", strings.Join(e.ErrorKind.KeywordPath(), "/"))
	}
}

// missing enters the members that the object at field should have.
func (f *foreign) missing(r *report, field string, names []string) {
	for _, name := range names {
		r.addText(strings.TrimPrefix(field+"/"+pointer(name), "/"), predict.TypeMissing, missingText)
	}
}

// find returns the keyword of the schema that e is about, or nil.
func (f *foreign) find(e *jsonschema.ValidationError, keyword string) any {
	_, fragment, _ := strings.Cut(e.SchemaURL, "#")
	fragment, err := url.PathUnescape(fragment)
	if err != nil {
		return nil
	}
	var at any = f.doc
	for _, token := range strings.Split(strings.TrimPrefix(fragment, "/"), "/") {
		token = strings.ReplaceAll(strings.ReplaceAll(token, "~1", "/"), "~0", "~")
		switch below := at.(type) {
		case map[string]any:
			at = below[token]
		case []any:
			i := decimalIndex(token)
			if i < 0 || i >= len(below) {
				return nil
			}
			at = below[i]
		}
	}
	m, _ := at.(map[string]any)
	return m[keyword]
}

// options returns the values that const or enum allows, or nil.
func (f *foreign) options(e *jsonschema.ValidationError) []any {
	if only := f.find(e, "const"); only != nil {
		return []any{only}
	}
	list, _ := f.find(e, "enum").([]any)
	return list
}

// number returns the value of a keyword as it was written, or else want.
func (f *foreign) number(e *jsonschema.ValidationError, keyword string, want *big.Rat) string {
	if v := f.find(e, keyword); v != nil {
		return jsonText(v)
	}
	return want.RatString()
}

// typeNames returns the names of the type keyword in the order in which they were written.
func (f *foreign) typeNames(e *jsonschema.ValidationError) []string {
	switch v := f.find(e, "type").(type) {
	case string:
		return []string{v}
	case []any:
		if names, err := stringList(v); err == nil {
			return names
		}
	}
	k, _ := e.ErrorKind.(*kind.Type)
	return k.Want
}

func decimalIndex(token string) int {
	n := 0
	for _, c := range []byte(token) {
		if c < '0' || c > '9' || n > 1<<20 {
			return -1
		}
		n = n*10 + int(c-'0')
	}
	return n
}
