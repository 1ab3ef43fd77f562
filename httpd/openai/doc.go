// Package openai serves OpenAI's API. The translation is pure, bytes in and bytes out; handlers.go and stream.go join
// it with HTTP and the predictions.
//
//	Function    what the model's function answers and takes, read from the model's OpenAPI document
//	Body        a request's parameters, from JSON or a form
//	Request     what the server runs for a request: an input for each prediction
//	Translation the body of a chat completion, from a request of another API
//	Chunks      the events of a stream
//	Error       a refusal or a failure, as OpenAI's error object
//
// Guarantees: a parameter is passed on, ignored or refused by the tables in parameters.go, never dropped silently if it
// would change the answer. Each input of a Request is a strict JSON object. A model's text is copied as the JSON that
// the worker sent, and not decoded, unless the request has a stop sequence.
package openai
