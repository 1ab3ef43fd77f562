// Package inputs turns command-line arguments into a model's JSON input, and its JSON output into text and files.
//
// Fields is the part of the OpenAPI document that this needs. Sample makes an input from the schema, or returns the
// model's own example.
package inputs
