package config

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"pinion/httpd/mcp"
	"pinion/httpd/protocol"
)

// folder is the folder of a model to serve.
type folder struct {
	Name string // "" means of a single model without a name
	Dir  string
}

// folders reads the arguments of 'pinion serve': nothing, one folder with or without a name, or several with names.
func (s *Serve) folders(args []string) ([]folder, error) {
	for _, arg := range args {
		if p := Preload(arg); p.On() && s.Model.Fleet.Preload.On() {
			if _, err := os.Stat(arg); err != nil {
				return nil, fmt.Errorf("there is no folder %s to serve: write --preload=%s, with the =", p, p)
			}
		}
	}
	switch len(args) {
	case 0:
		return []folder{{Dir: "."}}, nil
	case 1:
		dir := s.Protocols.takeName(args[0])
		return []folder{{Name: s.Protocols.given, Dir: dir}}, nil
	}
	var list []folder
	for _, arg := range args {
		name, dir, ok := strings.Cut(arg, "=")
		switch {
		case !ok || dir == "":
			return nil, fmt.Errorf("%q has no name: write each of several models as NAME=DIR", arg)
		case !IsVersionName(name):
			return nil, fmt.Errorf("%q: %s", arg, versionNameForm)
		case slices.ContainsFunc(list, func(f folder) bool { return WithVersion(f.Name) == WithVersion(name) }):
			return nil, fmt.Errorf("two models have the name %s: give each its own", name)
		}
		list = append(list, folder{name, dir})
	}
	return list, nil
}

// checkSeveral refuses what a server of several models cannot do. It is called after FromEnvironment.
func (s *Serve) checkSeveral() error {
	if s.Protocols.model != "" {
		return fmt.Errorf("--model %s names one model: with several, each has its own", s.Protocols.model)
	}
	return nil
}

// CheckTools refuses models that agents could not tell apart.
func (s *Protocols) CheckTools(list []Named) error {
	named := map[string]string{}
	for i := range list {
		name, _, _ := strings.Cut(list[i].Name, "@")
		tool := mcp.ToolName(name)
		if other, ok := named[tool]; ok && other != name && slices.Contains(s.Names, protocol.MCP) {
			return fmt.Errorf("%s and %s would be one tool %s for clients of MCP: rename one, or leave %s out of --protocols",
				other, name, tool, protocol.MCP)
		}
		named[tool] = name
	}
	return nil
}

// checkMultiModel refuses a single model to which SageMaker cannot add others.
func checkMultiModel(name string) error {
	if !IsModelName(name) {
		return fmt.Errorf("SAGEMAKER_MULTI_MODEL: the model's folder has an invalid name %q: serve it as NAME=DIR", name)
	}
	return nil
}
