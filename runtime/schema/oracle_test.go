package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// The oracle of the tests is a JSON Schema library, with its findings put into our words. It is no
// part of the product: it compiles its meta-schemas when a program starts, which took 7 ms and
// 1.7 MB, in the front and in each worker.

// library compiles schemas for the oracle.
type library struct {
	compiler *jsonschema.Compiler
	doc      map[string]any // what is compiled: the components, and what add was given
}

// foreign is one schema that the oracle validates.
type foreign struct {
	schema *jsonschema.Schema
	doc    map[string]any // for what messages say of the schema
}

// libraryURL names the one document; nothing is ever loaded from it.
const libraryURL = "schema:///openapi.json"

// newLibrary converts the components of d, and the named schemas beside them.
func newLibrary(d *document, named map[string]any) (*library, error) {
	doc := map[string]any{
		"components": map[string]any{"schemas": d.convertMap(map[string]any(d.schemas))},
		"named":      d.convertMap(named),
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(func(text string) (jsonschema.Regexp, error) { return compilePattern(text) })
	c.RegisterFormat(&jsonschema.Format{Name: "uri", Validate: func(v any) error {
		if text, ok := v.(string); ok && !isFileURL(inner(rawjson.AppendQuoted(nil, text))) {
			return errNotURL
		}
		return nil
	}})
	c.AssertFormat()
	if err := c.AddResource(libraryURL, doc); err != nil {
		return nil, fmt.Errorf("add schema: %w", err)
	}
	return &library{c, doc}, nil
}

var errNotURL = errors.New("not an http, https or data URL")

// noLoader refuses to fetch schemas: a model's document stands for itself.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("schema %s is outside of the document", url)
}

// compile compiles one of the named schemas.
func (l *library) compile(name string) (*foreign, error) {
	schema, err := l.compiler.Compile(libraryURL + "#/named/" + escapeFragment(name))
	if err != nil {
		return nil, err
	}
	return &foreign{schema, l.doc}, nil
}

// escapeFragment writes a name as one token of a JSON pointer in a URL.
func escapeFragment(name string) string {
	var out strings.Builder
	for _, c := range []byte(pointer(name)) {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || strings.IndexByte("_-.~", c) >= 0 {
			out.WriteByte(c)
		} else {
			fmt.Fprintf(&out, "%%%02X", c)
		}
	}
	return out.String()
}

// explain enters what is wrong with raw, which stands at field.
func (f *foreign) explain(r *report, field string, raw []byte) {
	value, err := decode(raw)
	if err != nil {
		r.add(field, raw, msgRange)
		return
	}
	var failed *jsonschema.ValidationError
	if !errors.As(f.schema.Validate(value), &failed) {
		return
	}
	var found report
	found.secret = r.secret
	f.walk(&found, field, raw, failed)
	// The library goes over objects in no particular order.
	slices.SortStableFunc(found.problems, func(a, b predict.Problem) int { return comparePaths(a.Loc[2], b.Loc[2]) })
	for _, p := range found.problems {
		r.addText(p.Loc[2], p.Type, p.Msg)
	}
	r.more = r.more || found.more
}

var errHuge = errors.New("number out of range")

// decode builds the value that the library validates. Numbers that it could not compute with are
// refused: it writes out every digit of 1e999999999.
func decode(raw []byte) (any, error) {
	if hugeIn(raw) {
		return nil, errHuge
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	err := d.Decode(&v)
	return v, err
}

func hugeIn(raw []byte) bool {
	switch rawjson.KindOf(raw) {
	case rawjson.KindNumber:
		return huge(raw)
	case rawjson.KindArray:
		for _, item := range rawjson.Items(raw) {
			if hugeIn(item) {
				return true
			}
		}
		return false
	case rawjson.KindObject:
		for _, value := range rawjson.Members(raw) {
			if hugeIn(value) {
				return true
			}
		}
		return false
	}
	return false
}

// walk enters the causes of e that say something themselves.
func (f *foreign) walk(r *report, field string, raw []byte, e *jsonschema.ValidationError) {
	switch e.ErrorKind.(type) {
	case *kind.Schema, *kind.Group, *kind.Reference, *kind.AllOf:
		for _, cause := range e.Causes {
			f.walk(r, field, raw, cause)
		}
		return
	}
	for _, token := range e.InstanceLocation {
		raw = member(raw, token)
		field += "/" + pointer(token)
	}
	f.message(r, strings.TrimPrefix(field, "/"), raw, e)
}

// member returns the item or the member of raw that a token of a JSON pointer names.
func member(raw []byte, token string) []byte {
	if rawjson.KindOf(raw) == rawjson.KindObject {
		_, values := members(raw)
		return values[token]
	}
	at, err := strconv.Atoi(token)
	if err != nil {
		return nil
	}
	for r := rawjson.Array(raw); ; at-- {
		item, ok := r.Next()
		if !ok || at == 0 {
			return item
		}
	}
}

// comparePaths orders fields, items by their number.
func comparePaths(a, b string) int {
	as, bs := strings.Split(a, "/"), strings.Split(b, "/")
	return slices.CompareFunc(as, bs, func(x, y string) int {
		i, errX := strconv.Atoi(x)
		j, errY := strconv.Atoi(y)
		if errX == nil && errY == nil {
			return i - j
		}
		return strings.Compare(x, y)
	})
}
