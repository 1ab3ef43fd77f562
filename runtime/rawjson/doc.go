// Package rawjson reads JSON without decoding it: it checks a document strictly and walks over it without building
// values, so that a request's input can go from the socket to the worker in the buffer in which it arrived.
//
// Guarantees:
//
//   - Check accepts exactly the documents of RFC 8259 that are valid UTF-8, have no escaped lone surrogate, no byte
//     order mark and no bytes after the value, and nest at most MaxDepth deep.
//   - No function allocates on valid input, except Text and KeyText for the string that they return. A loop over
//     Members or Items inside another one may allocate: use the readers where that matters.
//   - Readers and text functions take bytes that Check accepted. On other bytes their results are undefined, but they
//     neither panic nor loop for ever.
//   - All returned slices alias the argument. No argument is written to.
//
// It imports no other package of the project, and every package may import it.
package rawjson
