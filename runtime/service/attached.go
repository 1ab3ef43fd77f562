package service

import (
	"errors"
	"io"

	"pinion/runtime/files"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/schema"
)

// Inbox is where the files of a request's own body go while it is read.
func (s *Service) Inbox() predict.Inbox { return inbox{s.o.Files.NewInbox()} }

// inbox tells a client whose files are still coming when the server ends why they are of no use.
type inbox struct{ *files.Inbox }

// Add implements predict.Inbox.
func (i inbox) Add(name, mediaType string, from io.Reader) (int, error) {
	number, err := i.Inbox.Add(name, mediaType, from)
	if errors.Is(err, files.ErrClosed) {
		err = errStopping()
	}
	return number, err
}

// errStopping is why a server that is about to end takes nothing in.
func errStopping() error { return &predict.NotReadyError{Reason: "The server is shutting down"} }

// prepareInput makes a request's input fit for the model: what a form and attached files add to it is in
// req.Input afterwards.
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

// unchecked is the input for a model whose schema cannot be used. Nothing says there where files belong, or what a
// form's fields are.
func unchecked(req *predict.Request) (schema.Prepared, error) {
	if req.Form != nil || req.Attachments != nil {
		return schema.Prepared{}, &predict.ValidationError{Problems: []predict.Problem{{
			Loc: []string{"body"}, Type: predict.TypeValue,
			Msg: "this model has no schema by which a form or an attached file can be read: send JSON",
		}}}
	}
	return schema.Prepared{Input: req.Input}, nil
}
