package schema

import "pinion/runtime/rawjson"

// emptyText is what web forms send for an empty file field.
const emptyText = `""`

// withoutEmptyFiles replaces each empty file by null if the schema accepts null, else removes the field if it may be
// absent. ok reports whether there was one. Only invalid inputs need this. The error is that of spill.
func (s *Schema) withoutEmptyFiles(input []byte, spans []span, spill Spill) (filled []byte, ok bool, err error) {
	replaced := make(map[int][]byte) // by field; nil means removed
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
		return nil, false, nil
	}
	out := newRewritten(len(input)+len("null"), spill)
	for key, value := range rawjson.Members(input) {
		if i := s.find(key, 0); i >= 0 {
			if other, ok := replaced[i]; ok {
				value = other
			}
		}
		if value == nil {
			continue
		}
		out.next()
		out.buf = append(append(append(out.buf, '"'), key...), `":`...)
		out.value(value)
	}
	filled, err = out.finish()
	return filled, true, err
}

// withoutEmpty returns the value that replaces raw, nil for none; ok reports whether raw is replaced. Forms send an
// empty list of files as an empty text, or as a list with one.
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

// withoutEmptyItems replaces the empty files of the list raw by null, if its items may be null.
func (n *node) withoutEmptyItems(raw []byte) (out []byte, changed bool) {
	out = append(out, '[')
	for i, item := range rawjson.Items(raw) {
		if part := n.item(i); string(item) == emptyText && part != nil && part.hasURI && !part.valid(item) &&
			part.valid([]byte("null")) {
			item, changed = []byte("null"), true
		}
		out = rawjson.Comma(out, i > 0)
		out = append(out, item...)
	}
	return append(out, ']'), changed
}

// isOneEmpty reports whether raw is a list of one empty text.
func isOneEmpty(raw []byte) bool {
	r := rawjson.Array(raw)
	first, _ := r.Next()
	_, more := r.Next()
	return !more && string(first) == emptyText
}
