package protocol

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"pinion/runtime/schema"
)

// ValueKind is the kind of a value in a model's schema.
type ValueKind uint8

const (
	Any ValueKind = iota // not said, or one of several
	Text
	Integer
	Number
	Boolean
	File   // a Path or File: a URL in JSON
	List   // of Item
	Array  // a numpy array: nested lists in JSON
	Object // with Members, if they are known
)

// Value is what a model's schema says about an input or an output.
type Value struct {
	Kind    ValueKind
	Item    *Value  // of a List
	Members []Field // of an Object
	Dtype   string  // of an Array: "float32"; "" means any
	Rank    int     // of an Array: its dimensions; 0 means any
	Base64  bool    // of Text: it is bytes, in base64
}

// Field is an input of a model, or a member of an object.
type Field struct {
	Name     string
	Value    Value
	Required bool
	Streamed bool // a List whose items may come one by one
}

// Signature is what a model takes and returns.
type Signature struct {
	Inputs []Field // in the order of declaration
	Output Value   // of an iterator: one item
	// Iterator means that the model yields items, and Concatenate that their text belongs together.
	Iterator, Concatenate bool
}

// Input returns the input of that name, or nil.
func (s *Signature) Input(name string) *Field {
	for i := range s.Inputs {
		if s.Inputs[i].Name == name {
			return &s.Inputs[i]
		}
	}
	return nil
}

// Streamed returns the streamed input, or nil.
func (s *Signature) Streamed() *Field {
	if i := slices.IndexFunc(s.Inputs, func(f Field) bool { return f.Streamed && f.Value.Kind == List }); i >= 0 {
		return &s.Inputs[i]
	}
	return nil
}

// Required returns the required inputs.
func (s *Signature) Required() []*Field {
	var list []*Field
	for i := range s.Inputs {
		if s.Inputs[i].Required {
			list = append(list, &s.Inputs[i])
		}
	}
	return list
}

// Signature returns the model's signature for a prediction. The error is of kind NotReady before the setup has ended,
// and Internal if the schema cannot be read.
func (m *Model) Signature() (*Signature, *Error) { return m.readSignature(m.LoadOpenAPI()) }

// Description is Signature without loading the model.
func (m *Model) Description() (*Signature, *Error) { return m.readSignature(m.OpenAPI()) }

func (m *Model) readSignature(document []byte, ok bool) (*Signature, *Error) {
	if !ok {
		if err := m.Ready(); err != nil {
			return nil, ErrorOf(err)
		}
		return nil, Errorf(NotReady, "the model has no schema before it is loaded")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.signature != nil && len(document) == len(m.document) && &document[0] == &m.document[0] {
		return m.signature, nil
	}
	s, err := ReadSignature(document)
	if err != nil {
		return nil, Errorf(Internal, "the model's schema cannot be read: %v", err)
	}
	m.document, m.signature = document, s
	return s, nil
}

// component is a schema of a model's document.
type component struct {
	Type       string                `json:"type"`
	Format     string                `json:"format"`
	Ref        string                `json:"$ref"`
	AllOf      []component           `json:"allOf"`
	Items      *component            `json:"items"`
	Properties map[string]*component `json:"properties"`
	Required   []string              `json:"required"`
	Order      *float64              `json:"x-order"`
	ArrayType  string                `json:"x-cog-array-type"`
	Display    string                `json:"x-cog-array-display"`
	Dtype      *string               `json:"x-pinion-dtype"`
	Streamed   bool                  `json:"x-cog-stream"`
}

// ReadSignature reads the signature in a model's OpenAPI document.
func ReadSignature(document []byte) (*Signature, error) {
	d, err := schema.ReadDocument[*component](document)
	if err != nil {
		return nil, err
	}
	r := signatureReader(d.Schemas)
	input, output := r["Input"], r["Output"]
	if input == nil { // the model has only a train function
		input, output = r["TrainingInput"], r["TrainingOutput"]
	}
	if input == nil || output == nil {
		return nil, fmt.Errorf("it has no Input and Output")
	}
	s := &Signature{Inputs: r.fields(input, 0)}
	if out := r.resolve(output); out.ArrayType == "iterator" {
		s.Iterator, s.Concatenate = true, out.Display == "concatenate"
		if out.Items != nil {
			s.Output = r.value(out.Items, 0)
		}
	} else {
		s.Output = r.value(output, 0)
	}
	return s, nil
}

// signatureReader has the components by name.
type signatureReader map[string]*component

// maxNesting bounds schemas that contain themselves.
const maxNesting = 32

// resolve follows references.
func (r signatureReader) resolve(c *component) *component {
	for range maxNesting {
		switch {
		case c.Ref != "":
			to := r[strings.TrimPrefix(c.Ref, "#/components/schemas/")]
			if to == nil {
				return c
			}
			c = to
		case c.Type == "" && len(c.AllOf) == 1:
			c = &c.AllOf[0]
		default:
			return c
		}
	}
	return c
}

// fields returns the properties of an object, in the order of declaration.
func (r signatureReader) fields(c *component, depth int) []Field {
	names := make([]string, 0, len(c.Properties))
	for name := range c.Properties {
		names = append(names, name)
	}
	order := func(name string) float64 {
		if at := c.Properties[name].Order; at != nil {
			return *at
		}
		return 1e9
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(order(a), order(b)), cmp.Compare(a, b)) })
	fields := make([]Field, len(names))
	for i, name := range names {
		p := c.Properties[name]
		fields[i] = Field{
			Name: name, Value: r.value(p, depth+1), Required: slices.Contains(c.Required, name), Streamed: p.Streamed,
		}
	}
	return fields
}

func (r signatureReader) value(c *component, depth int) Value {
	c = r.resolve(c)
	var v Value
	if depth > maxNesting {
		return v
	}
	switch {
	case c.Dtype != nil:
		v.Kind, v.Dtype = Array, *c.Dtype
		for items := c.Items; items != nil && items.Type != ""; items = items.Items {
			v.Rank++
		}
	case c.Type == "string" && c.Format == "uri":
		v.Kind = File
	case c.Type == "string":
		v.Kind, v.Base64 = Text, c.Format == "byte"
	case c.Type == "integer":
		v.Kind = Integer
	case c.Type == "number":
		v.Kind = Number
	case c.Type == "boolean":
		v.Kind = Boolean
	case c.Type == "array":
		v.Kind, v.Item = List, new(Value)
		if c.Items != nil {
			*v.Item = r.value(c.Items, depth+1)
		}
	case c.Type == "object":
		v.Kind, v.Members = Object, r.fields(c, depth)
	}
	return v
}
