package ipc

import "errors"

var (
	// ErrProtocol means that the other side sent what no version of the protocol allows.
	ErrProtocol = errors.New("protocol violated")
	// ErrClosed means that this end was closed, or the other side is gone.
	ErrClosed = errors.New("channel closed")
	// ErrInterrupted means that Interrupt was called; the channel is as it was.
	ErrInterrupted = errors.New("interrupted")
)
