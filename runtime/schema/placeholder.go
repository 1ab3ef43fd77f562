package schema

import (
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// PrepareAttached is Prepare for an input with placeholders of attached files (predict.AppendPlaceholder). Each must be
// the value of a file input.
func (s *Schema) PrepareAttached(input []byte) (Prepared, error) {
	prepared, err := s.Prepare(input)
	if err != nil {
		return prepared, err
	}
	taken := map[int]bool{} // by offset
	for i := range prepared.Files {
		if prepared.Files[i].URL == "" {
			taken[prepared.Files[i].Start] = true
		}
	}
	if predict.CountPlaceholders(prepared.Input) == len(taken) {
		return prepared, nil
	}
	var r report
	for o := rawjson.Object(prepared.Input); ; {
		key, value, ok := o.Next()
		if !ok {
			return Prepared{}, &predict.ValidationError{Problems: r.problems}
		}
		addMisplaced(&r, rawjson.KeyText(key), value, o.Offset(), taken)
	}
}

const msgFile = "%s is given for an input that takes no file"

// addMisplaced adds a problem for each placeholder in raw, at offset base, that is not taken.
func addMisplaced(r *report, field string, raw []byte, base int, taken map[int]bool) {
	switch rawjson.KindOf(raw) {
	case rawjson.KindString:
		if predict.IsPlaceholder(raw) && !taken[base] {
			r.add(field, raw, msgFile)
		}
	case rawjson.KindArray:
		for a := rawjson.Array(raw); ; {
			item, ok := a.Next()
			if !ok {
				return
			}
			addMisplaced(r, field, item, base+a.Offset(), taken)
		}
	case rawjson.KindObject:
		for o := rawjson.Object(raw); ; {
			_, value, ok := o.Next()
			if !ok {
				return
			}
			addMisplaced(r, field, value, base+o.Offset(), taken)
		}
	}
}
