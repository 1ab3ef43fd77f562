package model

import (
	"errors"
	"fmt"
	"io"

	"pinion/cmd/pinion/internal/process"
	"pinion/pyembed/locate"
)

// ErrNoPython is the error of a document that takes a Python to read.
var ErrNoPython = errors.New("no Python reads the model")

// ServedDocument returns the model's part of the OpenAPI document, as a server has it: the one that the model brings,
// else made from its source. python may be nil if there is none. Differences between the two are written to warn.
func ServedDocument(m *Model, python *locate.Python, by Reader, warn io.Writer) ([]byte, error) {
	stored, err := ReadStored(m.Dir)
	if err != nil {
		return nil, err
	}
	if stored != nil && m.NoneDefaults != NoneOptional { // no Python is needed for this
		if python != nil {
			err = compareStored(m, python, stored, by, warn)
		}
		if !errors.Is(err, process.ErrInterrupted) {
			err = nil // the document is used in any case
		}
		return stored, err
	}
	if python == nil {
		return nil, ErrNoPython
	}
	r, err := ReadSource(m, python, by)
	if err == nil && r.Document == nil {
		err = &ProblemsError{Reading: r}
		if by.How == ReadStatic && len(r.Problems) == 0 {
			err = fmt.Errorf("%w\n    without --static the model is imported where its source does not tell", err)
		}
	}
	if err != nil {
		return nil, err
	}
	if stored != nil {
		document, err := WithNoneDefaults(stored, r.Document)
		warnOfStored(document, r.Document, warn)
		return document, err
	}
	return r.Document, nil
}

// compareStored warns of a document that disagrees with the source, as far as the source alone tells.
func compareStored(m *Model, python *locate.Python, stored []byte, by Reader, warn io.Writer) error {
	by.How = ReadStatic
	r, err := ReadSource(m, python, by)
	if err != nil || r.Document == nil {
		return err
	}
	warnOfStored(stored, r.Document, warn)
	return nil
}

func warnOfStored(stored, made []byte, to io.Writer) {
	for _, difference := range CompareSchemas(stored, made) {
		fmt.Fprintf(to, "warning: %s disagrees with the source: %s\n", StoredSchema, difference)
	}
}
