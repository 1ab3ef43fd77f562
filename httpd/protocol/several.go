package protocol

import (
	"strings"
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
