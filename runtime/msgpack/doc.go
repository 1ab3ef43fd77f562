// Package msgpack converts MessagePack to the JSON that the server works on, and its answers back.
//
// Guarantees:
//
//   - ToJSON writes strict JSON (package rawjson), except what its caller writes for a bin: text is escaped UTF-8, keys
//     are text, numbers are finite, and nothing nests deeper than rawjson.MaxDepth.
//   - Memory grows with the bytes received, not with the sizes that a document claims, and the JSON is bounded. The
//     content of a bin is streamed and never stored.
//   - FromJSON accepts what rawjson.Check accepts, and fails only on integers that MessagePack lacks.
//
// Extension types, for example timestamps, are refused: JSON has none. github.com/tinylib/msgp reads and writes the
// format.
package msgpack
