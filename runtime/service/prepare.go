package service

import (
	"errors"
	"maps"
	"slices"

	"pinion/runtime/logtext"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
	"pinion/runtime/schema"
)

// prepare checks the request against the model and prepares its input.
func (x *execution) prepare(id string, req *predict.Request) error {
	s := x.service
	all := s.model.Load()
	m := all.of(req.Function)
	if m == nil || m.absent {
		return &predict.NoFunctionError{Name: req.Function, Known: slices.Sorted(maps.Keys(all.functions)), Root: s.o.Root}
	}
	x.model = m
	req.Streams = m.streaming || req.AnyStream
	switch {
	case req.Kind == predict.KindTraining && !m.training:
		return predict.ErrNoTraining
	case req.Mode == predict.Stream && req.Kind == predict.KindTraining:
		return predict.ErrTrainingStream
	case req.Mode == predict.Stream && !req.Streams:
		if m.function == "" {
			return predict.ErrNotStreaming
		}
		return &predict.NotStreamingError{Function: m.function + "()", Batched: m.batched}
	case m.inputs[req.Kind] == nil && req.Inlet != nil:
		return predict.ErrNotStreamed
	case m.inputs[req.Kind] == nil:
		return x.prepareUnchecked(req)
	}
	input := m.inputs[req.Kind]
	if req.Inlet != nil {
		var err error
		if input, err = x.prepareInlet(input, req.Inlet); err != nil {
			return err
		}
	}
	err := x.prepareInput(input, req)
	if req.UnknownKeys != nil {
		err = x.warnUnknownKeys(id, input, req, err)
	}
	if err != nil {
		return err
	}
	prepared := x.prepared.Input
	if size := cap(prepared); size >= memory.MinCharge && !aliases(prepared, req.Input) && !x.spills.have(prepared) {
		x.copied = size
	}
	if unknown := x.prepared.Unknown; len(unknown) > 0 {
		attrs := []any{"prediction_id", logtext.Clip(id), "inputs", unknown}
		if req.RequestID != "" {
			attrs = append(attrs, "request_id", req.RequestID)
		}
		s.o.Logger.Warn("unknown inputs are dropped", attrs...)
		req.Input = prepared // never show unknown inputs: a misspelt name may carry a secret
	}
	return nil
}

// warnUnknownKeys tells the client and the log of unknown keys. err is the refusal of the input, or nil.
func (x *execution) warnUnknownKeys(id string, input *schema.Schema, req *predict.Request, err error) error {
	attrs := []any{"prediction_id", logtext.Clip(id), "keys", req.UnknownKeys.Names}
	if req.RequestID != "" {
		attrs = append(attrs, "request_id", req.RequestID)
	}
	x.service.o.Logger.Warn("unknown keys beside input are ignored", attrs...)
	warnings := input.UnknownKeys(req.UnknownKeys)
	x.prepared.Warnings = append(x.prepared.Warnings, warnings...)
	var invalid *predict.ValidationError
	if errors.As(err, &invalid) {
		invalid.Warnings = append(invalid.Warnings, warnings...)
	}
	return err
}

// prepareInput validates a request's input and prepares it for the model. Fields of a form are in req.Input afterwards.
func (x *execution) prepareInput(input *schema.Schema, req *predict.Request) (err error) {
	if req.Form != nil {
		req.Input, req.Form = input.Form(req.Input, req.Form), nil
		req.Lists = rawjson.Lists{}
	}
	if req.Attachments == nil {
		var spill func() schema.Spill
		if x.spills != nil {
			spill = x.spills.next
		}
		x.prepared, err = input.PrepareWith(req.Input, req.Lists, spill)
		return err
	}
	x.prepared, err = input.PrepareAttached(req.Input)
	for i := range x.prepared.Files {
		if f := &x.prepared.Files[i]; f.URL == "" {
			f.Path = req.Attachments.Path(f.Attached)
		}
	}
	return err
}

// prepareUnchecked prepares the input for a model without a usable schema. Without it neither files nor form fields can
// be read.
func (x *execution) prepareUnchecked(req *predict.Request) error {
	if req.Form != nil || req.Attachments != nil {
		return &predict.ValidationError{Problems: []predict.Problem{{
			Loc: []string{"body"}, Type: predict.TypeValue,
			Msg: "this model has no schema by which a form or an attached file can be read: send JSON",
		}}}
	}
	x.prepared = schema.Prepared{Input: req.Input}
	return nil
}

// appendWarnings appends the member of the prediction's object that has them.
func appendWarnings(dst []byte, warnings []string) []byte {
	dst = append(dst, `,"warnings":`...)
	for i, w := range warnings {
		dst = rawjson.AppendQuoted(append(dst, "[,"[min(i, 1)]), w)
	}
	return append(dst, ']')
}
