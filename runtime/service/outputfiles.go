package service

import (
	"errors"

	"pinion/runtime/files"
	"pinion/runtime/predict"
)

// handsOver reports whether a prediction's output file is answered as it is. An observed prediction has other readers,
// who need its output as JSON. With WantPaths they get it all the same.
func (s *Service) handsOver(p *predict.Prediction) bool {
	return p.Request.WantPaths || p.Request.WantFile && !p.Observed() && !s.uploads(&p.Request)
}

// handOver answers an output that is one file with that file. In other outputs, files become data URLs.
func (x *execution) handOver(r *predict.Result) {
	if r.Status != predict.Succeeded || r.Output == nil {
		return
	}
	if file, done := x.outputs.Only(r.Output); file != nil {
		x.p.OnRelease(done)
		x.p.SetFile(file)
		return
	}
	output, err := x.outputs.Inline(r.Output, x.p.Charge)
	switch {
	case errors.Is(err, files.ErrNoRoom):
		*r = x.service.overBudget(r)
	case err != nil:
		r.Status, r.Output, r.Error = predict.Failed, nil, err.Error()
	default:
		r.Output = output
	}
}
