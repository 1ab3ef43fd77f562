package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pinion/runtime/schema"
)

// Endpoint is one of the endpoints that a function can answer.
type Endpoint uint8

// The endpoints, by the names that @cog.openai takes.
const (
	Chat Endpoint = iota
	Completions
	Embeddings
	Transcriptions
	Images
	Speech
	Rerank
)

var endpoints = [...]struct{ name, path, prompt, operation string }{
	Chat:           {"chat", "/v1/chat/completions", "messages", "chat"},
	Completions:    {"completions", "/v1/completions", "prompt", "text_completion"},
	Embeddings:     {"embeddings", "/v1/embeddings", "input", "embeddings"},
	Transcriptions: {"transcriptions", "/v1/audio/transcriptions", "file", "transcription"},
	Images:         {"images", "/v1/images/generations", "prompt", "generate_content"},
	Speech:         {"speech", "/v1/audio/speech", "input", "speech"},
	Rerank:         {"rerank", "/v1/rerank", "documents", "rerank"},
}

// Endpoints returns all endpoints.
func Endpoints() []Endpoint {
	return []Endpoint{Chat, Completions, Embeddings, Transcriptions, Images, Speech, Rerank}
}

// String returns the name that @cog.openai takes.
func (e Endpoint) String() string { return endpoints[e].name }

// Path returns the path of the endpoint's route.
func (e Endpoint) Path() string { return endpoints[e].path }

// Operation returns the endpoint's gen_ai.operation.name of the semantic conventions.
func (e Endpoint) Operation() string { return endpoints[e].operation }

// promptName returns the name of the parameter that holds the prompts.
func (e Endpoint) promptName() string { return endpoints[e].prompt }

// Function is a model's function with @cog.openai.
type Function struct {
	Endpoint Endpoint
	// Iterates means that it yields its output in items.
	Iterates bool

	// Counts means that the model counts the tokens of a request by a method.
	Counts bool
	// Strict means that parameters that OpenAI's API does not have are refused, if the function does not take them.
	Strict bool

	inputs  map[string]forms
	content forms // of a message's content
}

// forms is a set of the forms of value that an input takes.
type forms uint8

const (
	formText       forms = 1 << iota // a string
	formTexts                        // a list of strings
	formTokens                       // a list of integers
	formTokenLists                   // a list of such lists
	formList                         // a list of other items
	formOther                        // an object, a number, …
	formAny        = formText | formTexts | formTokens | formTokenLists | formList | formOther
)

// valueSchema is what forms need of a JSON Schema.
type valueSchema struct {
	Ref       string        `json:"$ref"`
	Type      string        `json:"type"`
	Items     *valueSchema  `json:"items"`
	AllOf     []valueSchema `json:"allOf"`
	AnyOf     []valueSchema `json:"anyOf"`
	ArrayType string        `json:"x-cog-array-type"`

	Properties map[string]json.RawMessage `json:"properties"`
}

// schemas are the schemas of a document by name.
type schemas map[string]json.RawMessage

// schemaOf reads a schema; the zero one if there is none, or none that can be read.
func schemaOf(text json.RawMessage) (s valueSchema) {
	if json.Unmarshal(text, &s) != nil {
		return valueSchema{}
	}
	return s
}

// contentForms returns the forms that the content of a message has, as the function's messages are declared. Where they
// are declared as a dict alone, it is text: that is what a function without other words expects.
func (defined schemas) contentForms(messages *valueSchema) forms {
	taken := forms(0)
	for _, part := range slices.Concat(messages.AnyOf, messages.AllOf) {
		taken |= defined.contentForms(&part)
	}
	if message := messages.Items; message != nil {
		taken |= defined.contentOf(message, 0)
	}
	return taken
}

// contentOf returns the forms of a message's content, or 0 if it is not declared.
func (defined schemas) contentOf(message *valueSchema, depth int) (taken forms) {
	if depth > 10 {
		return 0
	}
	if text, ok := defined[strings.TrimPrefix(message.Ref, "#/components/schemas/")]; ok {
		target := schemaOf(text)
		taken |= defined.contentOf(&target, depth+1)
	}
	for _, part := range slices.Concat(message.AnyOf, message.AllOf) {
		taken |= defined.contentOf(&part, depth+1)
	}
	if text, ok := message.Properties["content"]; ok {
		content := schemaOf(text)
		taken |= content.forms()
	}
	return taken
}

// ReadFunction reads the model's function from its OpenAPI document; nil means it has no @cog.openai.
func ReadFunction(document []byte) (*Function, error) {
	d, err := schema.ReadDocument[json.RawMessage](document)
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	operation, err := d.Predict()
	if err != nil {
		return nil, fmt.Errorf("read the OpenAPI document: %w", err)
	}
	name := operation.OpenAI
	if name == "" {
		return nil, nil
	}
	defined := schemas(d.Schemas)
	input, output := schemaOf(defined["Input"]), schemaOf(defined["Output"])
	for _, e := range Endpoints() {
		if e.String() != name {
			continue
		}
		f := &Function{
			Endpoint: e, Iterates: output.ArrayType == "iterator", Counts: operation.Counts, inputs: map[string]forms{},
		}
		for name, text := range input.Properties {
			s := schemaOf(text)
			f.inputs[name] = s.forms()
			if name == Chat.promptName() {
				f.content = defined.contentForms(&s)
			}
		}
		f.content = cmp.Or(f.content, formText)
		return f, nil
	}
	return nil, fmt.Errorf("the OpenAPI document names the unknown endpoint %q in x-cog-openai", name)
}

// forms returns what a schema takes.
func (s *valueSchema) forms() forms {
	var taken forms
	for i := range s.AnyOf {
		taken |= s.AnyOf[i].forms()
	}
	switch s.Type {
	case "string":
		return taken | formText
	case "array":
		if s.Items == nil {
			return taken | formAny&^formText&^formOther
		}
		return taken | s.Items.listForms()
	case "":
		if taken == 0 && len(s.AllOf) == 0 && s.Ref == "" {
			return formAny
		}
		if len(s.AllOf) > 0 || s.Ref != "" { // an enum
			return taken | formText | formOther
		}
		return taken
	default:
		return taken | formOther
	}
}

// listForms returns what a list of such items takes.
func (s *valueSchema) listForms() forms {
	var taken forms
	for i := range s.AnyOf {
		taken |= s.AnyOf[i].listForms()
	}
	switch s.Type {
	case "string":
		return taken | formTexts
	case "integer", "number":
		return taken | formTokens
	case "array":
		if s.Items == nil || s.Items.Type == "integer" || s.Items.Type == "number" {
			return taken | formTokenLists
		}
		return taken | formList
	case "":
		if taken == 0 {
			return formTexts | formTokens | formTokenLists | formList
		}
		return taken
	default:
		return taken | formList
	}
}

// accepts reports whether the function has that parameter.
func (f *Function) accepts(name string) bool {
	_, ok := f.inputs[name]
	return ok
}
