// Package msgpack turns MessagePack into the JSON that the server works on, and its answers back.
//
// It promises:
//
//   - What ToJSON writes is strict JSON (package rawjson), but for what its caller writes for a bin: text is
//     UTF-8 and escaped, keys are text, numbers are finite, nothing nests deeper than rawjson.MaxDepth.
//   - Nothing is believed of the sizes that a document claims: memory grows with the bytes that came, and
//     the JSON is bounded. The content of a bin passes through and is never held.
//   - FromJSON takes what rawjson.Check accepts, and fails only over integers that MessagePack does not have.
//
// Extension types, timestamps among them, are refused: JSON has none. The format's own reading and writing are those of
// github.com/tinylib/msgp.
//
// It imports rawjson; httpd imports it.
package msgpack
