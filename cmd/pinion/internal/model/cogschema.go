package model

import (
	"strings"

	"pinion/cmd/pinion/internal/usertext"
)

// JSONSchemaDialect is the dialect that editors know.
const JSONSchemaDialect = "http://json-schema.org/draft-07/schema#"

// CogSchema returns the JSON Schema of cog.yaml, for editors: what 'pinion check' accepts without a warning.
func CogSchema() map[string]any {
	schema := jsonSchema(cogForm(), "", map[*valueForm]bool{})
	schema["$schema"] = JSONSchemaDialect
	schema["title"] = "cog.yaml"
	return schema
}

// jsonSchema returns the JSON Schema of the form at a place. within are the forms around it, which a form may contain
// again.
func jsonSchema(f *valueForm, place string, within map[*valueForm]bool) map[string]any {
	schema := map[string]any{}
	if about := cogKeyHelp()[place]; about != "" {
		schema["description"] = about
	}
	if f.kinds == nil || within[f] {
		return schema
	}
	within[f] = true
	defer delete(within, f)
	schema["type"] = jsonTypes(f.kinds)
	if f.words != nil {
		schema["enum"] = f.words
	}
	if f.keys != nil {
		properties := map[string]any{}
		for key, value := range f.keys {
			properties[key] = jsonSchema(value, strings.TrimPrefix(place+"."+key, "."), within)
		}
		schema["properties"], schema["additionalProperties"] = properties, false
	}
	if f.item != nil {
		schema["items"] = jsonSchema(f.item, place+"[]", within)
	}
	return schema
}

func jsonTypes(kinds []usertext.NodeKind) []string {
	types := []string{"null"} // a key without a value is as good as none
	for _, kind := range kinds {
		types = append(types, map[usertext.NodeKind]string{
			usertext.Mapping: "object", usertext.List: "array", usertext.Text: "string", usertext.Number: "number",
			usertext.Bool: "boolean",
		}[kind])
	}
	return types
}

// cogKeyHelp says what each key means, by its place.
func cogKeyHelp() map[string]string {
	return map[string]string{
		"build":                                    "What an image of the model needs. A server uses the Python that it finds.",
		"build.cog_runtime":                        "No effect: the server brings its package.",
		"build.cuda":                               "The version of CUDA in the image, as \"12.4\". Default: the packages'.",
		"build.cudnn":                              "The version of cuDNN, as \"8\".",
		"build.fast":                               "No effect.",
		"build.gpu":                                "Whether the model needs a GPU: the image has CUDA.",
		"build.pre_install":                        "Commands before the packages are installed.",
		"build.python_extra_index_urls":            "More package indexes.",
		"build.python_find_links":                  "Pages or folders with wheels.",
		"build.python_packages":                    "Packages, as \"numpy==2.2.6\". Use python_requirements.",
		"build.python_requirements":                "The file that lists the packages: requirements.txt.",
		"build.python_version":                     "The version of Python in the image, in quotes: \"3.12\".",
		"build.run":                                "Commands after the packages are installed, each a text, or a mapping with mounts.",
		"build.run[].command":                      "The command.",
		"build.run[].mounts":                       "What the command sees beside the image.",
		"build.run[].mounts[].id":                  "The name of the secret or cache.",
		"build.run[].mounts[].target":              "Where it is mounted.",
		"build.run[].mounts[].type":                "secret: a file that does not become part of the image. cache: a folder that is kept between builds.",
		"build.sdk_version":                        "No effect: the server brings its package.",
		"build.system_packages":                    "Packages of the distribution, as \"libgl1\".",
		"concurrency":                              "How many predictions a worker runs at once.",
		"concurrency.default_target":               "No effect: Replicate's autoscaler reads it.",
		"concurrency.max":                          "At most so many at once in one worker.",
		"description":                              "One line about the model, for the image's label and for agents (MCP).",
		"environment":                              "Variables of the model, as NAME=value.",
		"image":                                    "The image's name, as \"registry.example.com/name\".",
		"model":                                    "No effect: Replicate's name of the model.",
		"logo":                                     "A picture in the folder, as logo.png, which the page at /docs shows.",
		"none_defaults":                            "What \"x: int = Input(default=None)\" means: required, as Cog 0.23, or optional, as older versions.",
		"ranks":                                    "How many processes run each prediction together, as torchrun starts them.",
		"observability":                            "What the model's server reports to OpenTelemetry.",
		"observability.config":                     "The file with the model's own OpenTelemetry providers: FILE.py.",
		"observability.metrics":                    "Metrics over OTLP: true, false, or a mapping.",
		"observability.metrics.enabled":            "Whether metrics are sent.",
		"observability.traces":                     "Traces over OTLP: true, false, or a mapping.",
		"observability.traces.enabled":             "Whether traces are sent.",
		"observability.traces.sampler":             "Which requests are traced, if the caller has not decided.",
		"observability.traces.sampler_arg":         "The ratio of a sampler, as \"0.1\".",
		"observability.traces.trace_header":        "The header that brings the caller's trace. Default: traceparent.",
		"observability.traces.trace_header_format": "The form of that header.",
		"predict":                                  "Cog's older name of run.",
		"run":                                      "The model: FILE.py:CLASS, or FILE.py:FUNCTION.",
		"tests":                                    "No effect: commands of Cog's tests.",
		"train":                                    "The train function: FILE.py:FUNCTION.",
		"weights":                                  "Files that the image gets, or that the server fetches at its start.",
		"weights[].name":                           "The name of these weights.",
		"weights[].sha256":                         "The SHA-256 that the file must have.",
		"weights[].source":                         "Where they come from: a URL, a folder, a mapping with uri, or a list of those.",
		"weights[].target":                         "Where they lie: absolute, or relative to the model's folder.",
		"weights[].unpack":                         "true: the files are archives, whose files lie at the target.",
		"weights[].wait":                           "false: setup begins without them, and cog.weights waits. Default: true.",
		"weights[].source.uri":                     "Where they come from.",
		"weights[].source[].uri":                   "Where they come from.",
		"weights[].source.include":                 "Patterns of the files that count.",
		"weights[].source[].include":               "Patterns of the files that count.",
		"weights[].source.exclude":                 "Patterns of the files that do not count.",
		"weights[].source[].exclude":               "Patterns of the files that do not count.",
	}
}
