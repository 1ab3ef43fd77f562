package protocol

import "pinion/runtime/predict"

// Form is a multipart/form-data body.
type Form struct {
	Fields []predict.FormField
	// Attachments are its files, for which Fields have placeholders; nil: none.
	Attachments Attachments
	// Body is the memory that Fields are in.
	Body Body
}
