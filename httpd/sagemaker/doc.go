// Package sagemaker keeps the contract of Amazon SageMaker's inference containers: GET /ping and POST /invocations, for the
// default model.
//
// The body of an invocation says what is answered:
//
//	{"input": {…}}      the prediction object of the native API
//	{"instances": […]}  {"predictions": […]}, as package instances
//	any other object    its members are the inputs; the output alone
//	another type        the content of the only file input; the output alone
//
// It imports protocol, instances, predict and rawjson; cmd imports it.
package sagemaker
