// Package schema holds a model's input schema: it compiles the Input component of the model's
// OpenAPI document once, and prepares each request's input by it before Python sees it.
//
// Prepare drops what the model does not know, adds null for what is optional and absent, checks
// everything else, and says where the values stand that name files. It works on the bytes of the
// request: an input that needs no change is handed on as it came, without a copy or an allocation.
//
// What is wrong with an input comes back as a *predict.ValidationError in the words of the HTTP
// contract. Value problems come first, sorted by field, then missing fields in the order of
// declaration. The value of a secret never appears in one.
//
// It knows the keywords of OpenAPI 3.0 and of JSON Schema 2020-12 but for unevaluatedItems,
// unevaluatedProperties and dynamic references, which Compile refuses. Numbers compare exactly
// whatever their size, lengths count code points, formats other than uri say nothing. The tests hold
// its verdicts and messages to those of a JSON Schema library; the library itself would cost 7 ms
// at each start of the front and of every worker (it compiles its meta-schemas in init), builds
// values, and keeps neither the client's spelling of them nor secrets out of its messages.
//
// The cost of an input is linear in its size, times the depth of the schema. A schema that
// contains itself is as deep as the input, at most rawjson.MaxDepth.
//
// A Schema never changes after Compile and may be used by any number of goroutines.
//
// It imports predict and rawjson; the service and files import it.
package schema
