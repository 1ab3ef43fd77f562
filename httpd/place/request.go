package place

import (
	"pinion/httpd/body"
	"pinion/httpd/negotiate"
	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/request"
)

// Request is a request for a prediction. It owns the files and the memory that came with it until a prediction takes them over:
// the caller calls Discard in any case.
type Request struct {
	predict.Request
	How negotiate.Mode
	// Instead is the mode where there is no stream, if How.OrObject.
	Instead negotiate.Mode
	// Outlives means that the prediction goes on without this server: it is a job where there is a queue.
	Outlives bool
	// Raw is the body as it came, inflated, if it is not JSON and the queue may need it; else nil.
	Raw         []byte
	ContentType []byte
	Memory      body.Budget // which Charged is of

	taken bool
	_     noCopy
}

// noCopy has vet find copies of a request: two owners would free the same memory.
type noCopy struct{}

func (*noCopy) Lock()   {}
func (*noCopy) Unlock() {}

// ReadJSON reads the envelope of a prediction request, and takes the body over. typed means that the client declared it
// as JSON.
func (r *Request) ReadJSON(from *body.Body, typed bool) error {
	err := request.ReadJSON(&r.Request, from.Data, typed)
	r.Own(from)
	return err
}

// Own takes a body over.
func (r *Request) Own(from *body.Body) {
	r.Charged, r.Disk, r.Shared, r.Memory = from.Charged, from.Disk, from.Shared, from.Budget()
	if from.Owned {
		r.Body = from.Data
	}
	*from = body.Body{}
}

// Create has the prediction made, which then owns what the request had.
func (r *Request) Create(by Assigner) (*predict.Prediction, error) {
	p, err := by.Assign(r.Request)
	r.taken = err == nil
	return p, err
}

// Discard removes the files of a request that became no prediction, and frees its memory.
func (r *Request) Discard() {
	if r.taken {
		return
	}
	r.taken = true
	if r.Attachments != nil {
		r.Attachments.Close()
	}
	if r.Disk != nil {
		r.Disk.Unmap(true)
	}
	if r.Shared != nil {
		r.Shared.Free(true)
	}
	if r.Memory != nil && r.Charged > 0 {
		r.Memory.Free(r.Charged)
	}
}

// withoutStream changes a request to the mode that it has where there is no stream.
func (r *Request) withoutStream() {
	r.How = r.Instead
	if r.Raw == nil && r.Body == nil && r.How.Kind == predict.Async {
		r.How = negotiate.Mode{} // the queue would need the form as it came
	}
	r.Mode = r.How.Prediction()
}

// submission returns the request for the queue.
func (r *Request) submission() request.Submission {
	s := request.Submission{Request: r.Request, Body: r.Body, ContentType: string(r.ContentType)}
	if r.Raw != nil {
		s.Body = r.Raw
	} else if r.Disk != nil {
		s.Body = r.Disk.(*memory.Mapping).Data
	}
	if r.Trace != nil { // the server that runs it goes on with the trace
		s.Request.TraceParent, s.Request.TraceState = r.Trace.Passed(r.Trace.Request())
	}
	return s
}
