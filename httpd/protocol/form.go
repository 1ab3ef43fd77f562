package protocol

import (
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// Form is a multipart/form-data body.
type Form struct {
	Fields []predict.FormField
	// Attachments are its files, for which Fields have placeholders, or nil.
	Attachments request.Attachments
	// Body is the memory that Fields are in.
	Body Body
}
