// Package instances is what KServe v1, Vertex AI and SageMaker share: requests with a list of instances, and errors as
// {"error":"…"}.
//
//	{"instances": [1, {"x": 2}], "parameters": {"scale": 3}}  →  {"predictions": [3, 6]}
//
// Each instance is one prediction. An object is the model's inputs, anything else is the model's only required input.
// Parameters fill inputs that an instance does not have. If an instance is invalid or fails, the request fails, and the error
// has the instance's number.
//
// It imports protocol and rawjson; the three protocols import it.
package instances
