package protocol

import (
	"cmp"
	"strings"

	"pinion/runtime/logtext"
	"pinion/runtime/nearest"
)

// Several returns the models of a server: those that list returns, of which the first is the default.
func Several(list func() []*Model) Models { return several{list} }

type several struct{ list func() []*Model }

func (l several) List() []*Model { return l.list() }

func (l several) Find(name, version string) (*Model, *Error) {
	models := l.list()
	for _, m := range models {
		if m.Name == name {
			return m.find(version)
		}
		if own, ok := strings.CutPrefix(name, m.Name+"@"); ok && m.Versions != nil && (version == "" || version == own) {
			return m.find(own)
		}
	}
	return nil, unknown(name, models)
}

// unknown refuses a name that none of the models has, and names the nearest one.
func unknown(name string, models []*Model) *Error {
	var quoted, names []string
	for _, m := range models {
		quoted, names = append(quoted, `"`+m.Name+`"`), append(names, m.Name)
		if m.Versions != nil {
			for _, v := range m.Versions() {
				names = append(names, m.Name+"@"+v.Version)
			}
		}
	}
	return Errorf(Unknown, "unknown model %q: this server has %s%s", logtext.Clip(name),
		cmp.Or(strings.Join(quoted, ", "), "none"), nearest.Hint(name, names))
}
