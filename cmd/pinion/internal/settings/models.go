package settings

import (
	"fmt"
	"slices"
	"strings"
)

// Folder is the folder of a model to serve.
type Folder struct {
	Name string // "": of a single model without a name
	Dir  string
}

// Folders reads the arguments of 'pinion serve': nothing, one folder with or without a name, or several with names.
func (s *Serve) Folders(args []string) ([]Folder, error) {
	switch len(args) {
	case 0:
		return []Folder{{Dir: "."}}, nil
	case 1:
		dir := s.Protocols.takeName(args[0])
		return []Folder{{Name: s.Protocols.given, Dir: dir}}, nil
	}
	var folders []Folder
	for _, arg := range args {
		name, dir, ok := strings.Cut(arg, "=")
		switch {
		case !ok || dir == "":
			return nil, fmt.Errorf("%q has no name: with several models, each is NAME=DIR", arg)
		case !IsModelName(name):
			return nil, fmt.Errorf("%q: %s", arg, modelNameForm)
		case slices.ContainsFunc(folders, func(f Folder) bool { return f.Name == name }):
			return nil, fmt.Errorf("two models have the name %s: give each its own", name)
		}
		folders = append(folders, Folder{name, dir})
	}
	return folders, nil
}

// CheckSeveral refuses what a server of several models cannot do. It is called after FromEnvironment.
func (s *Serve) CheckSeveral() error {
	switch {
	case s.Protocols.model != "":
		return fmt.Errorf("--model %s names one model: with several, each has the name of its NAME=DIR", s.Protocols.model)
	case s.Jobs.NATS.On():
		return fmt.Errorf("--nats: a server of several models has no job queue: serve each model that needs one by itself")
	}
	return nil
}
