package protocol

import "slices"

// Single returns m as the only model of a server. It is loaded as long as the server runs.
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

func (l single) Load(name string) *Error {
	m, err := l.Find(name, "")
	if err != nil {
		return err
	}
	if err := m.Ready(); err != nil {
		return ErrorOf(err)
	}
	return nil
}

func (l single) Unload(name string) *Error {
	if _, err := l.Find(name, ""); err != nil {
		return err
	}
	return Errorf(BadInput, "model %q is the only one of this server and cannot be unloaded: stop the server", name)
}

// clip shortens what a client sent for a message.
func clip(text string) string {
	const most = 100
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	return string(slices.Concat(runes[:most], []rune("…")))
}
