package protocol

import "slices"

// Single returns m as the only model of a server.
func Single(m *Model) Models { return single{m} }

type single struct{ model *Model }

func (l single) Find(name, version string) (*Model, *Error) {
	if name != l.model.Name {
		return nil, Errorf(Unknown, "unknown model %q: this server has %q", clip(name), l.model.Name)
	}
	if version != "" && version != Version {
		return nil, Errorf(Unknown, "model %q has no version %q: it has %q", name, clip(version), Version)
	}
	return l.model, nil
}

func (l single) List() []*Model { return []*Model{l.model} }

// clip shortens what a client sent for a message.
func clip(text string) string {
	const most = 100
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(slices.Concat(runes[:most], []rune("…")))
}
