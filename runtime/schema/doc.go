// Package schema holds a model's input schema: it compiles the Input component of the model's OpenAPI document once,
// and prepares each request's input by it before Python sees it.
//
// Prepare drops unknown fields, adds null for optional absent ones, validates all others, and finds the values that
// name files. It works on the bytes of the request: an input without changes is returned as it came, without a copy or
// an allocation.
//
// The error of an invalid input is a *predict.ValidationError in the words of the HTTP contract. Value problems come
// first, sorted by field, then missing fields in the order of declaration. No message shows the value of a secret.
//
// It supports the keywords of OpenAPI and JSON Schema 2020-12 that the SDK or pydantic writes. Compile leaves
// out the others (not, if, contains, dependentRequired, unevaluatedItems, dynamic references) and what is invalid, and
// names each part that is left out. All else is still checked: without a part a schema only accepts more. Numbers of any size compare
// exactly, lengths count code points, and only the format uri is checked. Tests compare results and messages with a JSON Schema library. The library itself would
// cost 7 ms at each start of the front and of every worker (it compiles its meta-schemas in init). It also builds
// values, and its messages show secrets and not the client's spelling.
//
// The cost of an input is linear in its size, times the depth of the schema. A schema that contains itself is as deep
// as the input, at most rawjson.MaxDepth.
//
// ReadDocument is the one reader of the document, for all that read more of it than the input.
//
// A Schema never changes after Compile, and is safe for concurrent use.
package schema
