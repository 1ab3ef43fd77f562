package request

import (
	"io"

	"pinion/runtime/predict"
)

// Attachments stores the files that a request's body carries, while it is read.
type Attachments interface {
	predict.Attachments
	// Add writes a file to disk and returns its number. name is the file's as its client wrote it, and mediaType is the
	// type of its content; either may be "". The error is that of from, a *predict.FileLimitError, or one of the disk.
	Add(name, mediaType string, from io.Reader) (int, error)
}

// Files makes a store when the first file comes.
type Files struct {
	New func() Attachments
	Attachments
}

func (f *Files) add(name, mediaType string, from io.Reader) (int, error) {
	if f.Attachments == nil {
		f.Attachments = f.New()
	}
	return f.Attachments.Add(name, mediaType, from)
}

// Close removes the files, if any came.
func (f *Files) Close() {
	if f.Attachments != nil {
		f.Attachments.Close()
	}
}
