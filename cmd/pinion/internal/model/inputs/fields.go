package inputs

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"pinion/runtime/schema"
)

// Fields is what the command knows of a model's inputs: enough to make JSON of what stands on a command line. Package
// schema decides whether a value is allowed.
type Fields struct {
	schemas  map[string]*shape
	Order    []string // of declaration
	named    map[string]*shape
	open     bool // to inputs of any name
	required []string
	example  json.RawMessage // inputs that the model gives as an example, or nil
	compiled *schema.Schema
	output   *shape // of the output
}

// shape is a JSON Schema, as far as it says what kind of value stands where.
type shape struct {
	Ref        string            `json:"$ref"`
	AllOf      []*shape          `json:"allOf"`
	AnyOf      []*shape          `json:"anyOf"`
	Type       string            `json:"type"`
	Format     string            `json:"format"`
	Items      *shape            `json:"items"`
	Enum       []json.RawMessage `json:"enum"`
	Properties map[string]*shape `json:"properties"`
	Additional json.RawMessage   `json:"additionalProperties"` // false, true, or a shape
	Required   []string          `json:"required"`
	Order      int               `json:"x-order"`
	Streamed   bool              `json:"x-cog-stream"`
	ArrayType  string            `json:"x-cog-array-type"`
	Display    string            `json:"x-cog-array-display"`
	Examples   []json.RawMessage `json:"examples"`
	Example    json.RawMessage   `json:"example"`
	Default    json.RawMessage   `json:"default"`
	Minimum    *json.Number      `json:"minimum"`
	Maximum    *json.Number      `json:"maximum"`
	MinLength  int               `json:"minLength"`
	MaxLength  *int              `json:"maxLength"`
}

// ReadFields reads the inputs of a document, of its train function where train is set.
func ReadFields(document []byte, train bool) (*Fields, error) {
	d, err := schema.ReadDocument[*shape](document)
	if err != nil {
		return nil, fmt.Errorf("read the model's schema: %w", err)
	}
	f := &Fields{schemas: d.Schemas}
	name := schema.ComponentName(false, train)
	in := f.schemas[name]
	if in == nil {
		return nil, fmt.Errorf("read the model's schema: it has no %s", name)
	}
	if f.compiled, err = schema.Compile(document, name); err != nil {
		return nil, fmt.Errorf("read the model's schema: %w", err)
	}
	f.named, f.required, f.example, f.open = in.Properties, in.Required, in.Example, string(in.Additional) == "true"
	f.Order = slices.SortedFunc(maps.Keys(f.named), func(a, b string) int {
		return cmp.Or(cmp.Compare(f.named[a].Order, f.named[b].Order), cmp.Compare(a, b))
	})
	f.output = f.resolve(f.schemas[schema.ComponentName(true, train)])
	return f, nil
}

// Unchecked says which parts of the schema inputs are not checked by, and why.
func (f *Fields) Unchecked() []string { return f.compiled.Unchecked() }

// resolve follows references; a shape that is not a reference is returned as it is.
func (f *Fields) resolve(s *shape) *shape {
	for range 20 { // a document may refer to itself
		switch {
		case s == nil:
			return &shape{}
		case s.Ref != "":
			s = f.schemas[s.Ref[strings.LastIndexByte(s.Ref, '/')+1:]]
		case len(s.AllOf) == 1 && s.Type == "":
			s = s.AllOf[0]
		default:
			return s
		}
	}
	return &shape{}
}

func (s *shape) isFile() bool { return s.Type == "string" && s.Format == "uri" }

// isStreamed reports whether the items of an input may come while the model runs.
func (f *Fields) isStreamed(name string) bool {
	return f.named[name] != nil && f.named[name].Streamed && f.compiled.Stream() != nil
}

// Yields reports whether the output comes in items, which are not files.
func (f *Fields) Yields() bool {
	return f.output.ArrayType == "iterator" && !f.resolve(f.output.Items).isFile()
}

// IsText reports whether the output is shown as one text.
func (f *Fields) IsText() bool { return f.output.Display == "concatenate" }
