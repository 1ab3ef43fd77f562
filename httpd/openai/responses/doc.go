// Package responses serves OpenAI's Responses API over chat functions.
//
//	dialog      a request, which is translated to one of chat completions, and writes its answer
//	messages    the items of the input as messages
//	items       the output items of the answer, whole and as events
//
// Guarantees: the events of a stream have the order and the numbers of OpenAI's. What needs a stored response
// (previous_response_id, conversation, background) and the tools that OpenAI's servers run are refused by name: no
// response is stored.
package responses
