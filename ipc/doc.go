// Package ipc moves frames between the front and a worker: the frame format, one end of a
// socketpair, descriptor passing for large bodies, and the page of words that both processes share.
// PROTOCOL.md draws all of it.
//
// It promises: a frame arrives whole or not at all; bytes of one Send are never interleaved with
// another's; a body above InlineMax travels as a memory file and is never copied through the
// socket; Send never waits for the other side to read.
//
// It knows nothing of predictions, slots or Python. runtime/slot and runtime/supervise import it;
// the worker's side of the same protocol is C, in pyembed.
package ipc
