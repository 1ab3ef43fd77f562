package request

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"pinion/runtime/logtext"
	"pinion/runtime/predict"
)

// Problems collects what is wrong with a request.
type Problems []predict.Problem

// Add adds a problem at a place.
func (p *Problems) Add(msg string, loc ...string) {
	*p = append(*p, predict.Problem{Loc: loc, Msg: msg, Type: predict.TypeValue})
}

// Err returns a *predict.ValidationError with all problems, or nil.
func (p Problems) Err() error {
	if len(p) == 0 {
		return nil
	}
	return &predict.ValidationError{Problems: p}
}

const (
	maxID     = 256 // characters
	idPattern = `^[^/\u0000-\u001f\u007f-\u009f]*$`
)

// CheckID requires a valid id: it becomes a part of paths, logs and folder names. shown returns it for a message.
func (p *Problems) CheckID(id string, shown func() string, where, name string) {
	switch {
	case id == "":
		p.Add(`"" is shorter than 1 characters`, where, name)
	case utf8.RuneCountInString(id) > maxID:
		p.Add(shown()+` is longer than `+strconv.Itoa(maxID)+` characters`, where, name)
	case !utf8.ValidString(id) || strings.ContainsFunc(id, func(r rune) bool { return r == '/' || unicode.IsControl(r) }):
		p.Add(shown()+` does not match "`+idPattern+`"`, where, name)
	}
}

// maxProblems bounds an answer: a body can have millions of problems.
const maxProblems = 100

// Quote returns a JSON value as a message shows it.
func Quote(raw []byte) string {
	// Cut first, because the value may be 100 MiB: to more characters than clip leaves.
	return clip(string(logtext.Head(raw, (maxShown+2)*utf8.UTFMax)))
}
