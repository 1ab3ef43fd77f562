// Package mcp serves models as tools of the Model Context Protocol, over its Streamable HTTP transport without sessions:
// revision 2026-07-28, whose requests carry all that they mean, and those of 2025, which begin with initialize.
//
//	message    a JSON-RPC message, and whether its headers agree with it
//	tool       a model as a tool, as tools/list shows it
//	resource   a model's README, as resources/list shows it
//	translator a model's OpenAPI schemas as JSON Schema
//	task       a call whose result its client asks for later
//	progress   a stream of a call: how far it is, and its response
//	reply      a JSON-RPC response as it is written
//
// Guarantees: a message that is refused ran nothing. What goes wrong in a call, its arguments too, is a result with isError,
// which language models can read; JSON-RPC errors are for messages that break the protocol. A tool's name fits
// [A-Za-z0-9_-]{1,64}, which all language models' APIs take.
package mcp
