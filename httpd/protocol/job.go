package protocol

import (
	"time"

	"github.com/valyala/fasthttp"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
)

// JobCall is a request for a prediction that clients look up by its id, like one of POST /predictions with Prefer:
// respond-async.
type JobCall struct {
	// Body is the body of such a request: an object with input, webhook and so on. The call takes it over.
	Body Body
	// Input, if not nil, replaces the input of Body: it has placeholders for Attachments. The call takes them over. A
	// prediction that other servers may run keeps the input of Body.
	Input       []byte
	Attachments predict.Attachments
	// Members returns further members of the prediction's object, each with a comma before it.
	Members func(id string) []byte
}

// Job is a prediction that clients look up by its id.
type Job struct {
	ID     string
	Status string
	// Object is the prediction object, in parts, of which the second is the prediction's own. It is valid until Send or
	// Free.
	Object [3][]byte
	// Bare means that the object lacks the further members of JobCall, because another server made it.
	Bare bool
	// Record is how the prediction stands, with the output that Owner has; nil means that only Object says it.
	Record *predict.Record
	// Owner has the second part of Object; nil means nothing has.
	memory.Owner
}

// Send answers with parts, of which some are the job's own bytes. It takes the job over, which is freed after the last
// byte.
func (j Job) Send(x *Exchange, contentType string, parts ...[]byte) {
	own, made := j.Object[1], 0
	if j.Record != nil {
		own = j.Record.Output
	}
	for _, part := range parts {
		if !inside(part, own) {
			made += cap(part)
		}
	}
	x.host.SendParts(x.RequestCtx, contentType, parts, made, j.Owner)
}

// Free frees a job that is not answered with.
func (j *Job) Free() {
	if j.Owner != nil {
		j.Release()
	}
}

// Jobs are the predictions that clients look up by their ids. With a job queue, they are those of all servers.
type Jobs interface {
	// CreateJob creates a prediction of m and starts it. With the header Prefer: wait, or wait=SECONDS, it returns after
	// its end, or after a minute at most: then its status is starting, even if it runs. It is canceled if the client
	// disconnects meanwhile.
	CreateJob(ctx *fasthttp.RequestCtx, m *Model, c JobCall) (Job, *Error)
	// AwaitJob carries out a call of one row with an ID, and returns after its end, or after most: then it goes on, as a
	// job of the queue where there is one. The job has a Record. It is canceled if the client disconnects meanwhile.
	AwaitJob(ctx *fasthttp.RequestCtx, m *Model, c Call, most time.Duration) (Job, *Error)
	// FindJob returns the prediction of m with that id; false means none is known.
	FindJob(m *Model, id string) (Job, bool, *Error)
	// LookUp is FindJob without the Object of a job that has a Record.
	LookUp(m *Model, id string) (Job, bool, *Error)
	// CancelJob cancels the prediction of m with that id; false means none is known, or it has ended otherwise.
	CancelJob(m *Model, id string) (bool, *Error)
	// FollowJob answers with the events of the prediction of m with that id; false means none is known.
	FollowJob(ctx *fasthttp.RequestCtx, m *Model, id string, to EventRenderer) (bool, *Error)
	// Signature returns a signature of a path, which only servers with the same tokens (--auth-token-file) can make. Below
	// the Protocol's Signed paths, a GET with it in its query needs no token. "" means the server has no tokens.
	Signature(path string) string
	// Address returns the scheme and host by which the client reached the server: "http://localhost:5000".
	Address(ctx *fasthttp.RequestCtx) string
}

// EventRenderer writes the events of a prediction in a protocol's form. Its methods append to dst, and call flush
// between parts of a large event: it writes dst if that is large, and returns what to append to. So a reader takes
// little memory, however large the events are, which all readers share.
type EventRenderer interface {
	Output(dst, item []byte, flush func(dst []byte) []byte) []byte
	Log(dst, text []byte, flush func(dst []byte) []byte) []byte
	// End appends what follows the last event. The record has its Output only if the model did not yield it.
	End(dst []byte, of *predict.Record, flush func(dst []byte) []byte) []byte
}

// WholeRenderer is an EventRenderer whose End gets the whole output, also if the model yielded it.
type WholeRenderer interface {
	EventRenderer
	Whole()
}

// Jobs returns the predictions that clients look up by their ids.
func (x *Exchange) Jobs() Jobs { return x.host }
