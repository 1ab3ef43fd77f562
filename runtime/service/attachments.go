package service

import (
	"errors"
	"io"

	"pinion/runtime/files"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// attachments stores the files that a request's body carries while the body is read.
type attachments struct{ *files.Attachments }

// NewAttachments returns an empty store; the caller closes it.
func (s *Service) NewAttachments() request.Attachments {
	return attachments{s.o.Files.NewAttachments()}
}

// Add stores a file. While the server shuts down, the error says so.
func (a attachments) Add(name, mediaType string, from io.Reader) (int, error) {
	number, err := a.Attachments.Add(name, mediaType, from)
	if errors.Is(err, files.ErrClosed) {
		err = errStopping()
	}
	return number, err
}

// errStopping refuses requests while the server shuts down.
func errStopping() error { return &predict.NotReadyError{Reason: "The server is shutting down"} }
