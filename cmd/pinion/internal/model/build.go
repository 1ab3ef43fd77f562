package model

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
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

// Weight is an entry of weights.
type Weight struct {
	Name, Source, Target string
	Line                 int
}

// Fetched tells whether the weights come from elsewhere than the model's folder.
func (w Weight) Fetched() bool {
	return strings.Contains(w.Source, "://") && !strings.HasPrefix(w.Source, "file://")
}

// ReadBuild reads what cog.yaml says of the image, and finds every mistake in the file: unknown keys too. A folder
// without the file has the zero Build.
func ReadBuild(dir string) (*Build, *CogYAMLReport) {
	report := checkCogYAML(dir, true)
	root := report.root
	b := &Build{Config: json.RawMessage("{}")}
	if root == nil || root.kind != yamlMapping {
		return b, report
	}
	build := root.get("build")
	b.GPU = build.get("gpu").isTrue()
	b.CUDA, b.CUDNN = textOf(build.get("cuda")), textOf(build.get("cudnn"))
	b.Python, b.Requirements = textOf(build.get("python_version")), textOf(build.get("python_requirements"))
	b.Packages, b.SystemPackages = textsOf(build.get("python_packages")), textsOf(build.get("system_packages"))
	b.ExtraIndexURLs, b.FindLinks = textsOf(build.get("python_extra_index_urls")), textsOf(build.get("python_find_links"))
	b.PreInstall, b.Run = stepsOf(build.get("pre_install")), stepsOf(build.get("run"))
	b.Environment = textsOf(root.get("environment"))
	b.Description, b.Image = textOf(root.get("description")).Value, textOf(root.get("image")).Value
	b.Weights = weightsOf(root.get("weights"))
	config, err := configJSON(dir, b)
	if err != nil && len(report.Problems) == 0 {
		report.Problems = append(report.Problems, yamlError(err))
	}
	b.Config = config
	return b, report
}

func textOf(n *yamlNode) Text {
	if n == nil || n.kind == yamlNull || n.kind == yamlMapping || n.kind == yamlList {
		return Text{}
	}
	return Text{strings.TrimSpace(n.text), n.line}
}

func textsOf(n *yamlNode) (list []Text) {
	if n == nil {
		return nil
	}
	for _, item := range n.items {
		if text := textOf(item); text.Value != "" {
			list = append(list, text)
		}
	}
	return list
}

func stepsOf(n *yamlNode) (steps []Step) {
	if n == nil {
		return nil
	}
	for _, item := range n.items {
		step := Step{Command: textOf(item).Value, Line: item.line}
		if item.kind == yamlMapping {
			step.Command = textOf(item.get("command")).Value
			if mounts := item.get("mounts"); mounts != nil {
				for _, m := range mounts.items {
					step.Mounts = append(step.Mounts, Mount{
						Type: textOf(m.get("type")).Value, ID: textOf(m.get("id")).Value, Target: textOf(m.get("target")).Value, Line: m.line,
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

func weightsOf(n *yamlNode) (list []Weight) {
	switch {
	case n == nil:
	case n.kind == yamlText:
		list = append(list, Weight{Source: n.text, Line: n.line})
	default:
		for _, item := range n.items {
			if item.kind == yamlText {
				list = append(list, Weight{Source: item.text, Line: item.line})
				continue
			}
			source := item.get("source")
			if source != nil && source.kind == yamlMapping {
				source = source.get("uri")
			}
			list = append(list, Weight{
				Name: textOf(item.get("name")).Value, Source: textOf(source).Value, Target: textOf(item.get("target")).Value, Line: item.line,
			})
		}
	}
	return list
}

// configJSON is the file as JSON. Versions stay as they are written: to YAML 3.10 is the number 3.1.
func configJSON(dir string, b *Build) (json.RawMessage, error) {
	data, err := os.ReadFile(filepath.Join(dir, CogFile))
	if err != nil {
		return nil, err
	}
	var config map[string]any
	decoder := yaml.NewDecoder(bytes.NewReader(data), yaml.AllowDuplicateMapKey())
	if err := decoder.Decode(&config); err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	if build, ok := config["build"].(map[string]any); ok {
		for key, text := range map[string]Text{"python_version": b.Python, "cuda": b.CUDA, "cudnn": b.CUDNN} {
			if text.Value != "" {
				build[key] = text.Value
			}
		}
	}
	text, err := json.Marshal(config)
	if err != nil {
		return nil, fmt.Errorf("write %s as JSON: %w", CogFile, err)
	}
	return text, nil
}
