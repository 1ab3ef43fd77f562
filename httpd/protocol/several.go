package protocol

import "strings"

// Several returns the models of a server: those that list returns, of which the first is the default.
func Several(list func() []*Model) Models { return several{list} }

type several struct{ list func() []*Model }

func (l several) List() []*Model { return l.list() }

func (l several) Find(name, version string) (*Model, *Error) {
	models := l.list()
	for _, m := range models {
		if m.Name == name {
			return single{m}.Find(name, version)
		}
	}
	names := make([]string, len(models))
	for i, m := range models {
		names[i] = `"` + m.Name + `"`
	}
	return nil, Errorf(Unknown, "unknown model %q: this server has %s", clip(name), strings.Join(names, ", "))
}

// Load reports whether the model is loaded: these protocols do not load one, for any client may use them.
func (l several) Load(name string) *Error {
	m, err := l.Find(name, "")
	if err != nil {
		return err
	}
	if state := m.State(); state.Name != "READY" {
		return Errorf(NotReady, "model %q is not loaded: %s", name, state.Reason)
	}
	return nil
}

func (l several) Unload(name string) *Error {
	if _, err := l.Find(name, ""); err != nil {
		return err
	}
	return Errorf(BadInput, "model %q is not unloaded by this protocol: POST /models/%[1]s/unload does it, if the server has --reload", name)
}
