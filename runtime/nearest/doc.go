// Package nearest finds the known word that is closest to a misspelt one, so that an error can ask for it: a model, an
// input, a key, a flag.
//
// It is small because the command, HTTP and the runtime all use it, and none owns it. It does no I/O and may be imported
// by every package.
package nearest
