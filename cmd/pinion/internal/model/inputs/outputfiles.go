package inputs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"

	"pinion/runtime/logtext"
	"pinion/runtime/rawjson"
)

// treeWriter writes the files in an output that is an object or a list, and makes the JSON that names them in their
// places.
type treeWriter struct {
	outputs *Outputs
	fields  *Fields
	stem    string          // what every file's name begins with
	used    map[string]bool // names, in lower case
}

// writeTree writes an output with its files: the JSON goes to stdout or -o, the files beside it.
func (o *Outputs) writeTree(f *Fields, output []byte) error {
	if o.File == toStdout { // everything goes there
		return o.WriteJSON(output)
	}
	w := &treeWriter{outputs: o, fields: f, stem: "output", used: map[string]bool{}}
	if o.File != "" {
		w.stem = strings.TrimSuffix(o.File, filepath.Ext(o.File))
		w.used[strings.ToLower(o.File)] = true
	}
	text, err := w.value(nil, f.output, output, "")
	if err != nil {
		return err
	}
	return o.WriteJSON(text)
}

// value appends a value of a shape, in which files are names. place is what the value's name has after the stem.
func (w *treeWriter) value(dst []byte, s *shape, value []byte, place string) ([]byte, error) {
	var err error
	switch rawjson.KindOf(value) {
	case rawjson.KindObject:
		dst = append(dst, '{')
		between := `"`
		for key, member := range rawjson.Members(value) {
			dst = append(append(append(dst, between...), key...), '"', ':')
			between = `,"`
			name := rawjson.KeyText(key)
			if dst, err = w.value(dst, w.fields.member(s, name), member, place+"."+namePart(name)); err != nil {
				return nil, err
			}
		}
		return append(dst, '}'), nil
	case rawjson.KindArray:
		dst = append(dst, '[')
		for n, item := range rawjson.Items(value) {
			dst = rawjson.Comma(dst, n > 0)
			if dst, err = w.value(dst, w.fields.item(s), item, place+"."+strconv.Itoa(n)); err != nil {
				return nil, err
			}
		}
		return append(dst, ']'), nil
	case rawjson.KindString:
		kind, data, ok := w.fields.file(s, value)
		if !ok {
			break
		}
		name := w.name(place, extension(kind, data))
		if err := w.outputs.save(name, data); err != nil {
			return nil, err
		}
		return rawjson.AppendQuoted(dst, name), nil
	}
	return append(dst, value...), nil
}

// name returns a file's name that no other file of this output has.
func (w *treeWriter) name(place, extension string) string {
	place = strings.TrimSuffix(place, extension) // of a key that names a file
	for n := 1; ; n++ {
		name := w.stem + place + extension
		if n > 1 {
			name = fmt.Sprintf("%s%s-%d%s", w.stem, place, n, extension)
		}
		if !w.used[strings.ToLower(name)] {
			w.used[strings.ToLower(name)] = true
			return name
		}
	}
}

// namePart returns a key as a part of a file's name.
func namePart(key string) string {
	const longest = 60
	part := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) || unicode.IsDigit(r) || r == '-' || r == '_' || r == '.' {
			return r
		}
		return '_'
	}, strings.ToValidUTF8(key, "_"))
	return logtext.Head(part, longest)
}

// file returns the content of a string that is a file: a data URL, where the schema does not say that it is text. Where
// the schema says nothing, as for Any, only base64 counts, which is how files of the model come.
func (f *Fields) file(s *shape, value []byte) (kind string, data []byte, ok bool) {
	if !isDataURL(value) || f.saysText(s) {
		return "", nil, false
	}
	text := rawjson.Text(value)
	head, _, _ := strings.Cut(text, ",")
	if !f.resolve(s).isFile() && !strings.HasSuffix(head, ";base64") {
		return "", nil, false
	}
	kind, data, err := decodeDataURL(text)
	return kind, data, err == nil
}

// saysText reports whether strings of a shape are text and never files.
func (f *Fields) saysText(s *shape) bool {
	s = f.resolve(s)
	if s.Type != "" {
		return s.Type == "string" && !s.isFile()
	}
	text := false
	for _, option := range s.AnyOf {
		option = f.resolve(option)
		if option.isFile() || option.Type == "" {
			return false
		}
		text = text || option.Type == "string"
	}
	return text
}

// member returns the shape of an object's member; of one that the schema does not describe, an empty one.
func (f *Fields) member(s *shape, key string) *shape {
	for _, option := range f.options(s) {
		if member := option.Properties[key]; member != nil {
			return member
		}
		var rest shape
		if bytes.HasPrefix(option.Additional, []byte("{")) && json.Unmarshal(option.Additional, &rest) == nil {
			return &rest
		}
	}
	return &shape{}
}

// item returns the shape of a list's items.
func (f *Fields) item(s *shape) *shape {
	for _, option := range f.options(s) {
		if option.Items != nil {
			return option.Items
		}
	}
	return &shape{}
}

// options returns the shapes that a value of a shape may have.
func (f *Fields) options(s *shape) []*shape {
	s = f.resolve(s)
	options := []*shape{s}
	for _, option := range s.AnyOf {
		options = append(options, f.resolve(option))
	}
	return options
}
