package image

import (
	"fmt"
	"io"
	"strings"

	"pinion/cmd/pinion/internal/model"
	"pinion/pyembed/locate"
)

// FindSchema finds the OpenAPI document, as far as this machine can tell it without importing the model. What it cannot
// tell is written to notes.
func (o *Options) FindSchema(m *model.Model, find locate.Options, notes io.Writer) error {
	stored, err := model.ReadStored(m.Dir)
	if err != nil {
		return err
	}
	python, noPython := locate.Interpreter(find)
	switch {
	case stored != nil:
		o.Schema = stored
		return nil
	case noPython != nil:
		o.MakeSchema = true
		fmt.Fprintf(notes, "note: no Python here reads the model's inputs, so the image has no label run.cog.openapi_schema\n    %v\n", noPython)
		return nil
	}
	r, err := model.ReadSource(m, python, model.StaticReader())
	if err != nil {
		return err
	}
	if len(r.Problems) > 0 {
		return ProblemsError(r.Problems)
	}
	if r.Document == nil {
		fmt.Fprintf(notes, "note: the source alone does not tell the model's inputs, so the image has no label run.cog.openapi_schema\n    %s\n",
			strings.Join(r.Refusals, "\n    "))
		return nil
	}
	o.MakeSchema, o.Schema = true, r.Document
	return nil
}

// ProblemsError returns an error for mistakes in a model's folder, a line or two each.
func ProblemsError(problems []model.Problem) error {
	return &model.ProblemsError{Reading: &model.Reading{Problems: problems}}
}
