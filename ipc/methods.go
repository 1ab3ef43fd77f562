package ipc

import (
	"errors"
	"time"
)

// MethodBatches is the body of a MethodBatches frame.
type MethodBatches struct {
	Batches map[string]MethodSamples `json:"batches"` // by method
	Spans   []MethodSpan             `json:"spans"`   // of those with predictions whose traces are sampled
}

// MethodSamples has three numbers for each batch of a method: its size, how long its oldest call waited, and how long
// it took, in nanoseconds.
type MethodSamples []int64

// MethodBatch is one batch of a method.
type MethodBatch struct {
	Size       int
	Wait, Took time.Duration
}

// All yields each batch.
func (s MethodSamples) All(yield func(MethodBatch) bool) {
	for i := 0; i+2 < len(s); i += 3 {
		if !yield(MethodBatch{int(s[i]), time.Duration(s[i+1]), time.Duration(s[i+2])}) {
			return
		}
	}
}

// MethodSpan is the span of one batch.
type MethodSpan struct {
	Method string   `json:"method"`
	Size   int      `json:"size"`
	Began  int64    `json:"began"`  // nanoseconds since 1970
	Took   int64    `json:"took"`   // nanoseconds
	Parent string   `json:"parent"` // the batch's own traceparent, which is that of the model's spans in it
	Links  []string `json:"links"`  // traceparents of its predictions
	Error  string   `json:"error"`  // "" if it did not fail
}

const maxMethodName = 128

func ParseMethodBatches(body []byte) (MethodBatches, error) {
	m, err := parseOnce[MethodBatches](body, "batches of methods")
	for name, samples := range m.Batches {
		if err == nil && (name == "" || len(name) > maxMethodName || len(samples)%3 != 0) {
			err = errors.New("batches of methods: a name of 1 to 128 bytes and three numbers for each batch are expected")
		}
	}
	return m, err
}
