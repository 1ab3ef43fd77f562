package protocol

import (
	"pinion/httpd/place"
	"pinion/runtime/predict"
)

// Begin checks the call and creates its predictions. The caller calls Wait, Finish or Follow, and then Release.
func (m *Model) Begin(c Call) (*Run, *Error) {
	m = m.Chosen()
	r := &Run{model: m, stream: c.Stream, rows: c.Rows || len(c.Inputs) > 1}
	if err := CheckRows(len(c.Inputs)); err != nil {
		r.drop(&c)
		return nil, err
	}
	req := predict.Request{
		WantFile: c.WantFile, WantTensors: c.WantTensors, Form: c.Form, UnknownKeys: c.UnknownKeys, Span: c.Span,
		Inlet: c.Inlet, Context: c.Context,
	}
	c.Meta.For(&req)
	if c.Stream {
		req.Mode, req.AnyStream = predict.Stream, true
	}
	if len(c.Inputs) == 1 {
		one := place.Request{Request: req}
		one.Input, one.Tensors = c.Inputs[0], c.Tensors
		if c.Attachments != nil {
			one.Attachments = c.Attachments
		}
		one.ID = c.ID
		one.Own(&c.Body)
		p, err := one.Create(m)
		if err != nil {
			one.Discard()
			return nil, r.errorOf(0, err)
		}
		r.single[0] = p
		r.ps = r.single[:]
		return r, nil
	}
	req.Group = new(predict.Group)
	var shared predict.Attachments
	if c.Attachments != nil {
		shared = unclosed{c.Attachments}
	}
	r.ps = make([]*predict.Prediction, 0, len(c.Inputs))
	req.Tensors = c.Tensors
	for i, input := range c.Inputs {
		row := place.Request{Request: req}
		row.Input, row.Attachments = input, shared
		row.Trace = c.Trace.Another() // each row has its own span
		p, err := row.Create(m)
		if err != nil {
			r.abandon()
			r.drop(&c)
			return nil, r.errorOf(i, err)
		}
		r.ps = append(r.ps, p)
		req.UnknownKeys = nil // reported once
	}
	c.Body.KeepInUse()
	r.after = func() { r.drop(&c) }
	return r, nil
}

// unclosed are attachments that several predictions share.
type unclosed struct{ predict.Attachments }

// Close does nothing: the call closes them after its last prediction.
func (unclosed) Close() {}

// drop frees what a call took over, if no single prediction owns it.
func (r *Run) drop(c *Call) {
	if c.Attachments != nil {
		c.Attachments.Close()
	}
	c.Body.Release()
}
