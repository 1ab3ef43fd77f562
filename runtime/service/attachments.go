package service

import (
	"errors"
	"io"

	"pinion/runtime/files"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/schema"
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

// prepareInput validates a request's input and prepares it for the model. Fields of a form are in req.Input afterwards.
func prepareInput(input *schema.Schema, req *predict.Request) (schema.Prepared, error) {
	if req.Form != nil {
		req.Input, req.Form = input.Form(req.Input, req.Form), nil
		req.Lists = rawjson.Lists{}
	}
	if req.Attachments == nil {
		return input.PrepareWith(req.Input, req.Lists)
	}
	prepared, err := input.PrepareAttached(req.Input)
	for i := range prepared.Files {
		if f := &prepared.Files[i]; f.URL == "" {
			f.Path = req.Attachments.Path(f.Attached)
		}
	}
	return prepared, err
}

// unchecked prepares the input for a model without a usable schema. Without it neither files nor form fields can be read.
func unchecked(req *predict.Request) (schema.Prepared, error) {
	if req.Form != nil || req.Attachments != nil {
		return schema.Prepared{}, &predict.ValidationError{Problems: []predict.Problem{{
			Loc: []string{"body"}, Type: predict.TypeValue,
			Msg: "this model has no schema by which a form or an attached file can be read: send JSON",
		}}}
	}
	return schema.Prepared{Input: req.Input}, nil
}
