package request

import (
	"pinion/runtime/memory"
	"pinion/runtime/predict"
)

// Submission is a request for the job queue.
type Submission struct {
	Request predict.Request
	// Body is the request's body as it came, inflated, of that type.
	Body        []byte
	ContentType string
}

// Accepted is a prediction that the job queue has.
type Accepted struct {
	ID       string
	Warnings []string // about its input
	// Object is the prediction as it stands if the request was a repeated PUT, or asked for it; else nil.
	Object []byte
	// Owner has the object's memory; nil means nothing has.
	memory.Owner
}
