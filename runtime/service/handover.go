package service

import (
	"errors"

	"pinion/runtime/files"
	"pinion/runtime/predict"
	"pinion/runtime/rawjson"
)

// place is where a worker puts a prediction's output files.
type place interface {
	Folder() string
	Token() string
}

// filesMember is the member "files" of the request to the worker.
func filesMember(to place) []byte {
	b := rawjson.AppendQuoted([]byte(`{"folder":`), to.Folder())
	b = rawjson.AppendQuoted(append(b, `,"token":`...), to.Token())
	return append(b, '}')
}

// handsOver tells whether a prediction's output files go to its client as they are. Whoever can see the prediction but for
// that client needs its output as text.
func (s *Service) handsOver(p *predict.Prediction) bool {
	return p.Request.WantFile && !p.Told() && !s.uploads(p)
}

// handOver gives the output to the client as the file that it is; of another output the files become data URLs.
func (j *job) handOver(r *predict.Result) {
	if r.Status != predict.Succeeded || r.Output == nil {
		return
	}
	if file := j.outputs.Only(r.Output); file != nil {
		j.p.OnRelease(func() { _ = file.Content.Close() })
		j.p.SetFile(file)
		return
	}
	output, err := j.outputs.Inline(r.Output, j.p.Afford)
	if errors.Is(err, files.ErrNoRoom) {
		*r = j.service.overBudget(r)
		return
	}
	if err != nil {
		r.Status, r.Output, r.Error = predict.Failed, nil, err.Error()
		return
	}
	r.Output = output
}
