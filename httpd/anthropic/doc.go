// Package anthropic serves Anthropic's Messages API over chat functions.
//
//	dialog      a request, which is translated to one of chat completions, and writes its answer
//	messages    the blocks of the request's messages as messages of chat completions
//	appendError an error as Anthropic's error object
//
// Guarantees: the events of a stream have the order of Anthropic's, and a silent one has its event ping. What happens
// to each parameter, tool and block is in tables.go. Batches are refused by name.
package anthropic
