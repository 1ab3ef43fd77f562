package protocol

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/logtext"
	"pinion/runtime/memory"
	"pinion/runtime/nearest"
	"pinion/runtime/predict"
)

// Kind is what is wrong with a request. Each protocol has a status for each kind.
type Kind uint8

const (
	BadInput     Kind = iota // the client's mistake
	Unknown                  // no such model or version
	Failed                   // the model failed, or was canceled
	NoPlace                  // no slot is free, or the queue is full
	Waited                   // waited too long for a slot, or for memory
	NotReady                 // not set up, draining, defunct, or not loaded
	TooLarge                 // the body is too large, even for an empty memory budget
	BadMethod                // the path exists, but not with that method
	Unauthorized             // there is no token, or a wrong one
	Forbidden                // a page of another origin has sent it
	Conflict                 // it exists already
	InDoubt                  // it may have been accepted: a repetition could run it twice
	NoMemory                 // the models' memory has no room for it
	Internal                 // a bug of the server; the log has it
	kinds
)

// Status returns the HTTP status of errors of that kind.
func (k Kind) Status() int {
	switch k {
	case BadInput:
		return fasthttp.StatusBadRequest
	case Unknown:
		return fasthttp.StatusNotFound
	case NoPlace:
		return fasthttp.StatusTooManyRequests
	case Waited, NotReady, InDoubt:
		return fasthttp.StatusServiceUnavailable
	case TooLarge:
		return fasthttp.StatusRequestEntityTooLarge
	case BadMethod:
		return fasthttp.StatusMethodNotAllowed
	case Unauthorized:
		return fasthttp.StatusUnauthorized
	case Forbidden:
		return fasthttp.StatusForbidden
	case Conflict:
		return fasthttp.StatusConflict
	case NoMemory:
		return fasthttp.StatusInsufficientStorage
	default:
		return fasthttp.StatusInternalServerError
	}
}

// Error is why a request has no answer.
type Error struct {
	Kind    Kind
	Message string // without the row
	// Row is the number of the row, from 0, in a request with several; -1 means the request as a whole.
	Row int
	// Problems are the invalid inputs of a BadInput. Loc is the path below the input: ["text"].
	Problems []predict.Problem
	Warnings []string // the parts of the request that were ignored
	// RetryAfter is when a retry makes sense, at least a second; 0 means never, or unknown.
	RetryAfter time.Duration
	// Canceled means that the prediction was canceled, so the model did not fail.
	Canceled bool
	// Code is the model's word for a BadInput that it found; "" means there is none.
	Code   string
	status int // that the model gave a BadInput; 0 means that of the kind
}

// Status returns the HTTP status of the error.
func (e *Error) Status() int {
	if e.status != 0 {
		return e.status
	}
	return e.Kind.Status()
}

// Error returns the message, with the row.
func (e *Error) Error() string {
	if e.Row >= 0 {
		return fmt.Sprintf("row %d: %s", e.Row, e.Message)
	}
	return e.Message
}

// Errorf makes an error of the request as a whole.
func Errorf(kind Kind, format string, args ...any) *Error {
	return &Error{Kind: kind, Message: fmt.Sprintf(format, args...), Row: -1}
}

// refusals is how clients see each refusal: the status of the native API, the kind of all other protocols, and the code
// with which a WebSocket closes (RFC 6455, section 7.4.1).
var refusals = [predict.RefusalKinds]struct {
	native int
	kind   Kind
	closed int
}{
	predict.RefusedInternal:    {fasthttp.StatusInternalServerError, Internal, 1011},
	predict.RefusedBody:        {fasthttp.StatusBadRequest, BadInput, 1007},
	predict.RefusedValues:      {fasthttp.StatusUnprocessableEntity, BadInput, 1007},
	predict.RefusedSize:        {fasthttp.StatusRequestEntityTooLarge, TooLarge, 1008},
	predict.RefusedTraining:    {fasthttp.StatusNotFound, BadInput, 1008},
	predict.RefusedFunction:    {fasthttp.StatusNotFound, Unknown, 1008},
	predict.RefusedStream:      {fasthttp.StatusNotAcceptable, BadInput, 1008},
	predict.RefusedID:          {fasthttp.StatusConflict, Conflict, 1008},
	predict.RefusedBusy:        {fasthttp.StatusConflict, NoPlace, 1013},
	predict.RefusedFull:        {fasthttp.StatusTooManyRequests, NoPlace, 1013},
	predict.RefusedLate:        {fasthttp.StatusRequestTimeout, Waited, 1013},
	predict.RefusedUnavailable: {fasthttp.StatusServiceUnavailable, NotReady, 1013},
	predict.RefusedMemory:      {fasthttp.StatusServiceUnavailable, Waited, 1013},
	predict.RefusedBudget:      {fasthttp.StatusServiceUnavailable, TooLarge, 1009},
	predict.RefusedFollower:    {fasthttp.StatusTooManyRequests, NoPlace, 1013},
	predict.RefusedQueue:       {fasthttp.StatusServiceUnavailable, NotReady, 1013},
	predict.RefusedInDoubt:     {fasthttp.StatusServiceUnavailable, InDoubt, 1011},
}

// NativeStatus returns the HTTP status of a refusal in the native API.
func NativeStatus(k predict.RefusalKind) int { return refusals[k].native }

// CloseCode returns the code with which a WebSocket closes after a refusal.
func CloseCode(k predict.RefusalKind) int { return refusals[k].closed }

// ErrorOf turns a refusal into an Error.
func ErrorOf(err error) *Error {
	var known *Error
	var invalid *predict.ValidationError
	if errors.As(err, &known) {
		return known
	}
	refusal := predict.RefusalOf(err)
	e := &Error{Kind: refusals[refusal.Kind].kind, Message: err.Error(), RetryAfter: refusal.RetryAfter, Row: -1}
	if fix := refusal.Fix(); fix != "" {
		e.Message += ". To serve more at once, " + fix
	}
	if e.Kind == TooLarge {
		e.RetryAfter = 0 // every server has the limits of this one
	}
	if errors.As(err, &invalid) {
		e.Warnings = invalid.Warnings
		e.Problems = make([]predict.Problem, len(invalid.Problems))
		texts := make([]string, len(invalid.Problems))
		for i, p := range invalid.Problems {
			p.Loc = inputPath(p.Loc)
			e.Problems[i] = p
			texts[i] = "input " + strings.Join(p.Loc, ".") + ": " + p.Msg
		}
		e.Message = strings.Join(texts, "; ")
	}
	return e
}

// inputPath returns the path of a problem below the input: ["body","input","x"] is ["x"].
func inputPath(loc []string) []string {
	if len(loc) > 2 && loc[0] == "body" && loc[1] == "input" {
		return loc[2:]
	}
	return loc
}

// ended returns the error of a prediction that has ended; nil means it succeeded.
func ended(rec *predict.Record) *Error {
	switch rec.Status {
	case predict.Succeeded:
		return nil
	case predict.Canceled:
		return &Error{Kind: Failed, Message: "the prediction was canceled", Row: -1, Canceled: true}
	default:
		if rec.OverBudget {
			return &Error{
				Kind: refusals[predict.RefusedMemory].kind, Message: rec.Error, Row: -1,
				RetryAfter: predict.RefusalOf(memory.ErrFull).RetryAfter,
			}
		}
		if f := rec.Fault; f != nil {
			e := &Error{Kind: BadInput, Message: rec.Error, Row: -1, Code: f.Code}
			if !f.BadInput {
				e.status = f.Status
			}
			return e
		}
		return &Error{Kind: Failed, Message: rec.Error, Row: -1}
	}
}

// unknown refuses a name that none of the models has, and names the nearest one.
func unknown(name string, models []*Model) *Error {
	var quoted, names []string
	for _, m := range models {
		quoted, names = append(quoted, `"`+m.Name+`"`), append(names, m.Name)
		if m.Versions != nil {
			for _, v := range m.Versions() {
				names = append(names, m.Name+"@"+v.Version)
			}
		}
	}
	return Errorf(Unknown, "unknown model %q: this server has %s%s", logtext.Clip(name),
		cmp.Or(strings.Join(quoted, ", "), "none"), nearest.Hint(name, names))
}
