package service

import (
	"errors"
	"io"
	"time"

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

// Add stores a file. While the server shuts down, or where the disk has no room, the error says so.
func (a attachments) Add(name, mediaType string, from io.Reader) (int, error) {
	number, err := a.Attachments.Add(name, mediaType, from)
	switch {
	case errors.Is(err, files.ErrClosed):
		err = errStopping()
	case errors.Is(err, files.ErrDiskFull):
		err = &predict.NotReadyError{
			Reason:     "The server cannot store the request's files: " + err.Error(),
			RetryAfter: time.Second,
		}
	}
	return number, err
}

// errStopping refuses requests while the server shuts down.
func errStopping() error { return &predict.NotReadyError{Reason: "The server is shutting down"} }
