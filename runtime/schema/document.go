package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
)

// Document is a model's OpenAPI document. T is what the caller reads of each schema; as any, numbers are json.Number.
type Document[T any] struct {
	Version string       // of OpenAPI
	Schemas map[string]T // components.schemas
	paths   json.RawMessage
}

// ReadDocument reads a model's OpenAPI document. With an error it returns what could be read.
func ReadDocument[T any](openapi []byte) (*Document[T], error) {
	var root struct {
		OpenAPI    string          `json:"openapi"`
		Paths      json.RawMessage `json:"paths"`
		Components struct {
			Schemas map[string]T `json:"schemas"`
		} `json:"components"`
	}
	d := json.NewDecoder(bytes.NewReader(openapi))
	d.UseNumber()
	err := d.Decode(&root)
	if err == nil {
		if _, after := d.Token(); after != io.EOF {
			err = fmt.Errorf("data after the document")
		}
	}
	return &Document[T]{Version: root.OpenAPI, Schemas: root.Components.Schemas, paths: root.Paths}, err
}

// Operation is what the document says of the function that makes predictions.
type Operation struct {
	OpenAI    string `json:"x-cog-openai"`    // the endpoint of OpenAI's API that it answers; "" means none
	Streaming bool   `json:"x-cog-streaming"` // it sends its output as it comes
	Counts    bool   `json:"x-cog-counts"`    // a method beside it counts the tokens of its inputs
}

// Predict returns the operation of POST /predictions; the zero one if there is none. With an error it returns what
// could be read.
func (d *Document[T]) Predict() (Operation, error) {
	var paths struct {
		Predictions struct {
			Post Operation `json:"post"`
		} `json:"/predictions"`
	}
	if d.paths == nil {
		return Operation{}, nil
	}
	err := json.Unmarshal(d.paths, &paths)
	return paths.Predictions.Post, err
}

// ComponentName returns the name of the schema of an input or output, of the train function where train is set.
func ComponentName(output, train bool) string {
	name := "Input"
	if output {
		name = "Output"
	}
	if train {
		name = "Training" + name
	}
	return name
}
