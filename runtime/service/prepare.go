package service

import (
	"errors"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/schema"
)

// prepare checks the request against the model and prepares its input.
func (j *job) prepare(id string, req *predict.Request) error {
	s := j.service
	m := s.model.Load()
	switch {
	case req.Kind == predict.KindTraining && !m.training:
		return predict.ErrNoTraining
	case req.Mode == predict.Stream && req.Kind == predict.KindTraining:
		return predict.ErrTrainingStream
	case req.Mode == predict.Stream && !m.streaming && !req.AnyStream:
		return predict.ErrNotStreaming
	case m.inputs[req.Kind] == nil:
		return j.prepareUnchecked(req)
	}
	err := j.prepareInput(m.inputs[req.Kind], req)
	if req.Beside != nil {
		err = j.warnBeside(id, m.inputs[req.Kind], req, err)
	}
	if err != nil {
		return err
	}
	input := j.prepared.Input
	if size := cap(input); size >= memory.Least && !aliases(input, req.Input) && !j.spills.have(input) {
		j.copied = size
	}
	if unknown := j.prepared.Unknown; len(unknown) > 0 {
		attrs := []any{"prediction_id", predict.Clip(id), "inputs", unknown}
		if req.RequestID != "" {
			attrs = append(attrs, "request_id", req.RequestID)
		}
		s.o.Logger.Warn("unknown inputs are dropped", attrs...)
		req.Input = input // never show unknown inputs: a misspelt name may carry a secret
	}
	return nil
}

// warnBeside tells the client and the log of unknown keys beside the input. err is the refusal of the input, or nil.
func (j *job) warnBeside(id string, input *schema.Schema, req *predict.Request, err error) error {
	attrs := []any{"prediction_id", predict.Clip(id), "keys", req.Beside.Names}
	if req.RequestID != "" {
		attrs = append(attrs, "request_id", req.RequestID)
	}
	j.service.o.Logger.Warn("unknown keys beside input are ignored", attrs...)
	warnings := input.Beside(req.Beside)
	j.prepared.Warnings = append(j.prepared.Warnings, warnings...)
	var invalid *predict.ValidationError
	if errors.As(err, &invalid) {
		invalid.Warnings = append(invalid.Warnings, warnings...)
	}
	return err
}

// prepareInput validates a request's input and prepares it for the model. Fields of a form are in req.Input afterwards.
func (j *job) prepareInput(input *schema.Schema, req *predict.Request) (err error) {
	if req.Form != nil {
		req.Input, req.Form = input.Form(req.Input, req.Form), nil
		req.Lists = rawjson.Lists{}
	}
	if req.Attachments == nil {
		var spill func() schema.Spill
		if j.spills != nil {
			spill = j.spills.next
		}
		j.prepared, err = input.PrepareWith(req.Input, req.Lists, spill)
		return err
	}
	j.prepared, err = input.PrepareAttached(req.Input)
	for i := range j.prepared.Files {
		if f := &j.prepared.Files[i]; f.URL == "" {
			f.Path = req.Attachments.Path(f.Attached)
		}
	}
	return err
}

// prepareUnchecked prepares the input for a model without a usable schema. Without it neither files nor form fields can
// be read.
func (j *job) prepareUnchecked(req *predict.Request) error {
	if req.Form != nil || req.Attachments != nil {
		return &predict.ValidationError{Problems: []predict.Problem{{
			Loc: []string{"body"}, Type: predict.TypeValue,
			Msg: "this model has no schema by which a form or an attached file can be read: send JSON",
		}}}
	}
	j.prepared = schema.Prepared{Input: req.Input}
	return nil
}
