package server

import (
	"slices"

	"pinion/cmd/pinion/internal/config"
	"pinion/httpd/protocol"
	"pinion/runtime/modelcall"
	"pinion/runtime/predict"
)

// onCalls returns what carries out calls of a model's predictions, or nil if there is no other model.
func (f *Server) onCalls(model string) func(of []*predict.Prediction, fd int) {
	if !f.several {
		return nil
	}
	o := &modelcall.Options{
		Find: f.callee, Explain: func(err error) string { return protocol.ErrorOf(err).Error() },
		Tracer: f.telemetry.Tracer(), Memory: f.budget,
	}
	model, _, _ = config.SplitVersion(model) // a version is among its callers by its model
	return func(of []*predict.Prediction, fd int) { o.Serve(model, of, fd) }
}

// callee is a model as other models call it.
type callee struct{ *protocol.Model }

func (f *Server) callee(name string) (modelcall.Model, error) {
	m, err := f.endpoints.models.Find(name, "")
	if err != nil {
		return nil, err
	}
	return callee{m.Chosen()}, nil
}

func (c callee) Shape() (modelcall.Shape, error) {
	s, err := c.Signature()
	switch {
	case err != nil && err.Kind == protocol.NotReady: // Assign says more
		return modelcall.Shape{Files: true, Tensors: true}, nil
	case err != nil:
		return modelcall.Shape{}, err
	}
	return modelcall.Shape{
		Iterator: s.Iterator, Files: mayHold(&s.Output, protocol.File),
		Tensors: mayHold(&s.Output, protocol.Number, protocol.Array),
	}, nil
}

// mayHold reports whether a value may be, or have in it, one of these kinds.
func mayHold(v *protocol.Value, kinds ...protocol.ValueKind) bool {
	if slices.Contains(kinds, v.Kind) {
		return true
	}
	switch v.Kind {
	case protocol.Any:
		return true
	case protocol.List:
		return mayHold(v.Item, kinds...)
	case protocol.Object:
		for i := range v.Members {
			if mayHold(&v.Members[i].Value, kinds...) {
				return true
			}
		}
		return len(v.Members) == 0
	}
	return false
}
