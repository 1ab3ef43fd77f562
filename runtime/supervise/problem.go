package supervise

import (
	"fmt"
	"strings"
)

// Problem is why a model cannot be set up, as `pinion check` says it.
type Problem struct {
	File      string `json:"file"` // below the model's folder; "": it is about no file
	Line      int    `json:"line"`
	What      string `json:"what"`
	Mend      string `json:"mend"`      // what to do about it; "": that is not known
	Traceback string `json:"traceback"` // of an exception of the model's own; "": there is none
}

// text is what the setup's logs have of it, without a newline at its end.
func (p *Problem) text() string {
	if p.Traceback != "" {
		return strings.TrimSuffix(p.Traceback, "\n")
	}
	text := p.What
	if p.File != "" {
		text = fmt.Sprintf("%s:%d: %s", p.File, p.Line, text)
	}
	if p.Mend != "" {
		text += "; " + p.Mend
	}
	return text
}
