package openapi

import "pinion/runtime/rawjson"

// The functions below edit JSON that rawjson.Check has accepted, without decoding it, so that all other bytes and their
// order do not change. Keys are compared in their escaped form.

// at returns the value at a path of keys, or nil.
func at(value []byte, path ...string) []byte {
	for _, key := range path {
		value = member(value, key)
	}
	return value
}

func member(object []byte, key string) []byte {
	for k, v := range rawjson.Members(object) {
		if string(k) == key {
			return v
		}
	}
	return nil
}

// put returns object with value at a path of keys. It makes missing objects on the way.
func put(object, value []byte, path ...string) []byte {
	if len(path) == 0 {
		return value
	}
	var w writer
	found := false
	for k, v := range rawjson.Members(object) {
		if string(k) == path[0] {
			found, v = true, put(v, value, path[1:]...)
		}
		w.add(k, v)
	}
	if !found {
		w.add([]byte(path[0]), put(nil, value, path[1:]...))
	}
	return w.end()
}

// remove returns object without the value at a path of keys.
func remove(object []byte, path ...string) []byte {
	var w writer
	for k, v := range rawjson.Members(object) {
		switch {
		case string(k) != path[0]:
			w.add(k, v)
		case len(path) > 1:
			w.add(k, remove(v, path[1:]...))
		}
	}
	return w.end()
}

// merge returns base with the members of more that base lacks, at any depth, and with the parameters that it does not
// name.
func merge(base, more []byte) []byte {
	var w writer
	for k, v := range rawjson.Members(base) {
		added := member(more, string(k))
		switch {
		case rawjson.KindOf(v) == rawjson.KindObject && rawjson.KindOf(added) == rawjson.KindObject:
			v = merge(v, added)
		case string(k) == "parameters" && rawjson.KindOf(added) == rawjson.KindArray:
			v = mergeParameters(v, added)
		}
		w.add(k, v)
	}
	for k, v := range rawjson.Members(more) {
		if member(base, string(k)) == nil {
			w.add(k, v)
		}
	}
	return w.end()
}

func mergeParameters(base, more []byte) []byte {
	out := []byte{'['}
	named := map[string]bool{}
	for _, list := range [][]byte{base, more} {
		for _, item := range rawjson.Items(list) {
			name := string(member(item, "name"))
			if named[name] {
				continue
			}
			named[name] = true
			out = rawjson.Comma(out, len(out) > 1)
			out = append(out, item...)
		}
	}
	return append(out, ']')
}

// writer writes an object.
type writer struct{ out []byte }

func (w *writer) add(key, value []byte) {
	if w.out == nil {
		w.out = []byte{'{'}
	} else {
		w.out = append(w.out, ',')
	}
	w.out = append(append(append(w.out, '"'), key...), '"', ':')
	w.out = append(w.out, value...)
}

func (w *writer) end() []byte {
	if w.out == nil {
		return []byte("{}")
	}
	return append(w.out, '}')
}
