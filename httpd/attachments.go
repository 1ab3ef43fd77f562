package httpd

import (
	"io"

	"pinion/runtime/predict"
)

// Attachments stores the files that a request's body carries, before there is a prediction. Only the goroutine that
// reads the body calls Add; the last owner calls Close.
type Attachments interface {
	predict.Attachments
	// Add writes a file to disk and returns its number. name is the file's as its client wrote it, and mediaType is the
	// type of its content; either may be "". The error is that of from, a *predict.FileLimitError, or one of the disk.
	Add(name, mediaType string, from io.Reader) (int, error)
}

// attachments asks the service for a store when the first file comes.
type attachments struct {
	svc Service
	Attachments
}

func (a *attachments) add(name, mediaType string, from io.Reader) (int, error) {
	if a.Attachments == nil {
		a.Attachments = a.svc.NewAttachments()
	}
	return a.Attachments.Add(name, mediaType, from)
}

func (a *attachments) close() {
	if a.Attachments != nil {
		a.Attachments.Close()
	}
}
