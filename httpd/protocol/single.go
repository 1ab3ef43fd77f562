package protocol

import (
	"strings"

	"pinion/runtime/logtext"
	"pinion/runtime/nearest"
)

// Single returns m as the only model of a server.
func Single(m *Model) Models { return single{m} }

type single struct{ model *Model }

func (l single) Find(name, version string) (*Model, *Error) {
	if name != l.model.Name {
		return nil, unknown(name, l.List())
	}
	return l.model.find(version)
}

// find returns a version of the model; "" means any.
func (m *Model) find(version string) (*Model, *Error) {
	if version == "" {
		return m, nil
	}
	var has, quoted []string
	for _, known := range m.All() {
		if known.Version == version {
			return known, nil
		}
		has, quoted = append(has, known.Version), append(quoted, `"`+known.Version+`"`)
	}
	return nil, Errorf(Unknown, "model %q has no version %q: it has %s%s", m.Name, logtext.Clip(version),
		strings.Join(quoted, ", "),
		nearest.Hint(version, has))
}

func (l single) List() []*Model { return []*Model{l.model} }
