package schema

import "pinion/runtime/rawjson"

// emptyText is what web forms send for a file that was not chosen.
const emptyText = `""`

// withoutEmptyFiles is input with null for each file that a client left empty, where the schema takes null; where it does not,
// but lets the field be absent, the field is left out. ok tells whether there was any. Only an input that is not valid needs this.
func (s *Schema) withoutEmptyFiles(input []byte, spans []span) (out []byte, ok bool) {
	replaced := make(map[int][]byte) // by field; nil: it is left out
	for i := range s.fields {
		f, at := &s.fields[i], spans[i]
		if at.end == 0 || !f.node.hasURI {
			continue
		}
		if value, ok := f.withoutEmpty(input[at.start:at.end]); ok {
			replaced[i] = value
		}
	}
	if len(replaced) == 0 {
		return nil, false
	}
	out = append(make([]byte, 0, len(input)+len("null")), '{')
	for r := rawjson.Object(input); ; {
		key, value, ok := r.Next()
		if !ok {
			return append(out, '}'), true
		}
		if i := s.find(key, 0); i >= 0 {
			if other, ok := replaced[i]; ok {
				value = other
			}
		}
		if value == nil {
			continue
		}
		if len(out) > 1 {
			out = append(out, ',')
		}
		out = append(append(append(out, '"'), key...), `":`...)
		out = append(out, value...)
	}
}

// withoutEmpty is the value that the field is to have instead of raw, nil for none; ok tells whether it is to have another.
// A list of files of which none was chosen comes as an empty text, or as a list with one.
func (f *field) withoutEmpty(raw []byte) (value []byte, ok bool) {
	isEmpty := string(raw) == emptyText
	if rawjson.KindOf(raw) == rawjson.KindArray {
		items, changed := f.node.withoutEmptyItems(raw)
		if changed {
			return items, true
		}
		isEmpty = isOneEmpty(raw)
	}
	switch {
	case !isEmpty || f.node.valid(raw):
		return nil, false
	case f.node.valid([]byte("null")):
		return []byte("null"), true
	}
	return nil, f.mayBeAbsent
}

// withoutEmptyItems is the list raw with null for its empty files, where the items may be null.
func (n *node) withoutEmptyItems(raw []byte) (out []byte, changed bool) {
	out = append(out, '[')
	i := 0
	for r := rawjson.Array(raw); ; i++ {
		item, ok := r.Next()
		if !ok {
			return append(out, ']'), changed
		}
		if part := n.item(i); string(item) == emptyText && part != nil && part.hasURI && !part.valid(item) && part.valid([]byte("null")) {
			item, changed = []byte("null"), true
		}
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, item...)
	}
}

// isOneEmpty tells whether raw is a list of one empty text.
func isOneEmpty(raw []byte) bool {
	r := rawjson.Array(raw)
	first, _ := r.Next()
	_, more := r.Next()
	return !more && string(first) == emptyText
}
