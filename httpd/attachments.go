package httpd

import (
	"io"

	"pinion/httpd/protocol"
)

// Attachments stores the files that a request's body carries.
type Attachments = protocol.Attachments

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
