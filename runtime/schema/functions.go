package schema

import (
	"encoding/json"

	"pinion/runtime/rawjson"
)

// functionsMember has the documents of a model's functions in its OpenAPI document.
const functionsMember = "x-cog-functions"

// Function is a function of a model beside its own one.
type Function struct {
	Document []byte          // its OpenAPI document, a part of the model's
	Streams  bool            // it returns an iterator
	Example  json.RawMessage // of its inputs, or nil
}

// Functions returns the functions that a model's OpenAPI document has, by name; nil means none.
func Functions(openapi []byte) (functions map[string]Function) {
	for key, member := range rawjson.Members(openapi) {
		if !rawjson.KeyIs(key, functionsMember) {
			continue
		}
		for name, document := range rawjson.Members(member) {
			d, _ := ReadDocument[struct {
				ArrayType string          `json:"x-cog-array-type"`
				Example   json.RawMessage `json:"example"`
			}](document)
			if functions == nil {
				functions = map[string]Function{}
			}
			functions[rawjson.KeyText(name)] = Function{
				document, d.Schemas[ComponentName(true, false)].ArrayType == "iterator",
				d.Schemas[ComponentName(false, false)].Example,
			}
		}
	}
	return functions
}

// FunctionDocument returns the OpenAPI document of a model's function, "" being its own, or nil.
func FunctionDocument(openapi []byte, name string) []byte {
	if name == "" {
		return openapi
	}
	return Functions(openapi)[name].Document
}
