package service

import (
	"errors"
	"io"

	"pinion/runtime/files"
	"pinion/runtime/predict"
)

// Attachments stores the files that a request's body carries while the body is read.
type Attachments struct{ *files.Attachments }

// NewAttachments returns an empty store; the caller closes it.
func (s *Service) NewAttachments() Attachments { return Attachments{s.o.Files.NewAttachments()} }

// Add stores a file. While the server shuts down, the error says so.
func (a Attachments) Add(name, mediaType string, from io.Reader) (int, error) {
	number, err := a.Attachments.Add(name, mediaType, from)
	if errors.Is(err, files.ErrClosed) {
		err = errStopping()
	}
	return number, err
}

// errStopping refuses requests while the server shuts down.
func errStopping() error { return &predict.NotReadyError{Reason: "The server is shutting down"} }
