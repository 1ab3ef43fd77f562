// Package instances speaks the protocols whose requests are a list of instances, and whose errors are {"error":"…"}:
//
//	KServe      KServe's protocol v1, which is that of TensorFlow Serving's REST API; version 2 is package oip
//	Vertex      the contract of Vertex AI's containers: a health route and a predict route, at the paths that Vertex AI
//	            sets in the container's environment, even if these are the native API's
//	SageMaker   the contract of Amazon SageMaker's inference containers: GET /ping and POST /invocations
//
// A request and its answer:
//
//	{"instances": [1, {"x": 2}], "parameters": {"scale": 3}}  →  {"predictions": [3, 6]}
//
// Each instance is one prediction. An object is the model's inputs, anything else is the model's only required input.
// Parameters fill inputs that an instance does not have. If an instance is invalid or fails, the request fails, and the
// error has the instance's number.
//
// The body of SageMaker's invocation says what is answered:
//
//	{"input": {…}}      the prediction object of the native API
//	{"instances": […]}  {"predictions": […]}
//	any other object    its members are the inputs; the output alone
//	another type        the content of the only file input; the output alone
//
// ModelListRoutes answers GET /v1/models and /v1/models/{model} for clients of OpenAI and of KServe v1, which share
// these paths. An answer has the members of both:
//
//	{"object":"list","data":[{"id","object","created","owned_by","name","ready"}],"models":["NAME"]}
package instances
