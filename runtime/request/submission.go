package request

import "pinion/runtime/predict"

// Submission is a request for the job queue.
type Submission struct {
	Request predict.Request
	// Body is the request's body as it came, inflated, of that type.
	Body        []byte
	ContentType string
}

// Accepted is the result of a submission.
type Accepted struct {
	ID       string
	Warnings []string // about its input
	// Object is the prediction as it stands if the request was a repeated PUT; else nil.
	Object []byte
	// Release frees the object's memory; nil means there is nothing to free.
	Release func()
}
