package model

import (
	"encoding/json"
	"strings"

	"pinion/cmd/pinion/internal/usertext"
)

// Build is what cog.yaml says of the model's image.
type Build struct {
	GPU                       bool
	CUDA, CUDNN               Text
	Python                    Text // "3.12" or "3.12.1"
	Requirements              Text // a file in pip's format, below the folder
	Packages, SystemPackages  []Text
	ExtraIndexURLs, FindLinks []Text
	PreInstall, Run           []Step
	Environment               []Text // NAME=value
	Weights                   []Weight
	Description, Image        string
	Config                    json.RawMessage // the whole file
}

// Text is a value of cog.yaml with its line; the zero value is one that the file does not have.
type Text struct {
	Value string
	Line  int
}

// Step is a command of build.run or build.pre_install.
type Step struct {
	Command string
	Mounts  []Mount
	Line    int
}

// Mount is what a command sees while it runs: a secret or a cache.
type Mount struct {
	Type, ID, Target string
	Line             int
}

// ReadBuild reads what cog.yaml says of the image, and finds every mistake in the file: unknown keys too. A folder
// without the file has the zero Build.
func ReadBuild(dir string) (*Build, *CogYAMLReport) {
	report := checkCogYAML(dir, true)
	root := report.root
	b := &Build{Config: json.RawMessage("{}")}
	if root == nil || root.Kind != usertext.Mapping {
		return b, report
	}
	build := root.Get("build")
	b.GPU = isTrue(build.Get("gpu"))
	b.CUDA, b.CUDNN = textOf(build.Get("cuda")), textOf(build.Get("cudnn"))
	b.Python, b.Requirements = textOf(build.Get("python_version")), textOf(build.Get("python_requirements"))
	b.Packages, b.SystemPackages = textsOf(build.Get("python_packages")), textsOf(build.Get("system_packages"))
	b.ExtraIndexURLs, b.FindLinks = textsOf(build.Get("python_extra_index_urls")), textsOf(build.Get("python_find_links"))
	b.PreInstall, b.Run = stepsOf(build.Get("pre_install")), stepsOf(build.Get("run"))
	b.Environment = environmentOf(root)
	b.Description, b.Image = textOf(root.Get("description")).Value, textOf(root.Get("image")).Value
	b.Weights = weightsOf(root.Get("weights"))
	b.Config = configJSON(root, b)
	return b, report
}

func textOf(n *usertext.Node) Text {
	if n == nil || n.Kind == usertext.Null || n.Kind == usertext.Mapping || n.Kind == usertext.List {
		return Text{}
	}
	return Text{strings.TrimSpace(n.Text), n.Line}
}

func textsOf(n *usertext.Node) (list []Text) {
	if n == nil {
		return nil
	}
	for _, item := range n.Items {
		if text := textOf(item); text.Value != "" {
			list = append(list, text)
		}
	}
	return list
}

func stepsOf(n *usertext.Node) (steps []Step) {
	if n == nil {
		return nil
	}
	for _, item := range n.Items {
		step := Step{Command: textOf(item).Value, Line: item.Line}
		if item.Kind == usertext.Mapping {
			step.Command = textOf(item.Get("command")).Value
			if mounts := item.Get("mounts"); mounts != nil {
				for _, m := range mounts.Items {
					step.Mounts = append(step.Mounts, Mount{
						Type: textOf(m.Get("type")).Value, ID: textOf(m.Get("id")).Value, Target: textOf(m.Get("target")).Value,
						Line: m.Line,
					})
				}
			}
		}
		if step.Command != "" {
			steps = append(steps, step)
		}
	}
	return steps
}

// configJSON returns the file as JSON. Versions stay as they are written: to YAML 3.10 is the number 3.1.
func configJSON(root *usertext.Node, b *Build) json.RawMessage {
	config := root.Value().(map[string]any)
	if build, ok := config["build"].(map[string]any); ok {
		for key, text := range map[string]Text{"python_version": b.Python, "cuda": b.CUDA, "cudnn": b.CUDNN} {
			if text.Value != "" {
				build[key] = text.Value
			}
		}
	}
	data, err := json.Marshal(config)
	if err != nil { // no value of a tree
		return json.RawMessage("{}")
	}
	return data
}
