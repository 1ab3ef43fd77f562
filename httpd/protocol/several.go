package protocol

import "strings"

// Several returns the models of a server, of which the first is the default. They are loaded as long as the server runs.
func Several(models []*Model) Models {
	if len(models) == 1 {
		return Single(models[0])
	}
	return several{models}
}

type several struct{ models []*Model }

func (l several) Find(name, version string) (*Model, *Error) {
	for _, m := range l.models {
		if m.Name == name {
			return single{m}.Find(name, version)
		}
	}
	names := make([]string, len(l.models))
	for i, m := range l.models {
		names[i] = `"` + m.Name + `"`
	}
	return nil, Errorf(Unknown, "unknown model %q: this server has %s", clip(name), strings.Join(names, ", "))
}

func (l several) List() []*Model { return l.models }

func (l several) Load(name string) *Error {
	m, err := l.Find(name, "")
	if err != nil {
		return err
	}
	return single{m}.Load(name)
}

func (l several) Unload(name string) *Error {
	if _, err := l.Find(name, ""); err != nil {
		return err
	}
	return Errorf(BadInput, "model %q cannot be unloaded: stop the server", name)
}
