// Package rawjson reads JSON as the bytes that it is: it checks a document strictly and walks over
// it without building values, so that a request's input can pass from the socket to the worker in
// the buffer that it arrived in.
//
// It promises:
//
//   - Check accepts exactly the documents of RFC 8259 that are valid UTF-8, hold no escaped lone
//     surrogate, begin with no byte order mark, end with the value and nest at most MaxDepth deep.
//   - Nothing here allocates on good input; Text and KeyText do for the string that they return.
//   - Readers and text functions take bytes that Check accepted. On other bytes their answers mean
//     nothing, but they neither panic nor loop for ever.
//   - All returned slices alias the argument. Nothing is written to.
//
// It imports no other package of the project, and every package may import it.
package rawjson
