// Package ipc moves frames between the front and a worker: the frame format, the messages, one end of a socketpair,
// descriptor passing for large bodies, and the page of words that both processes share. PROTOCOL.md draws all of it.
//
// Every message is built and parsed here: kind.go names the kinds, config.go, setup.go and prediction.go have the
// bodies.
//
// It promises: a frame arrives whole or not at all; bytes of one Send are never interleaved with
// another's; a body above InlineMax travels as a memory file and is never copied through the
// socket; Send never waits for the other side to read.
//
// It imports nothing from runtime, and knows nothing of queues and processes. The worker's side is C, in pyembed.
package ipc
