package metrics

import (
	"cmp"
	"strings"
	"time"
)

// maxCalls bounds the combinations of method and code. There are about 15 methods and 17 codes.
const maxCalls = 300

type callKey struct{ method, code string }

// Call records an answered gRPC call: its method ("" means unknown), for example "ModelInfer", its code, for example
// "OK", and how long it took. The strings are not retained.
func (s *Set) Call(method, code string, took time.Duration) {
	method = cmp.Or(method, other)
	r := s.calls.snapshot()[callKey{method, code}]
	if r == nil {
		fresh := func(k callKey) *requests {
			return &requests{labels: pairs("code", k.code, "method", k.method), took: s.predictions.queue.bounds.histogram()}
		}
		if r = s.calls.add(callKey{strings.Clone(method), strings.Clone(code)}, maxCalls, fresh); r == nil {
			r = s.calls.add(callKey{other, other}, maxCalls+1, fresh)
		}
	}
	r.took.observe(took)
}

func (s *Set) gatherCalls(g *gathered) {
	gatherAnswered(g, s.calls.snapshot(), "pinion_grpc_requests_total", "gRPC calls answered.",
		"pinion_grpc_request_duration_seconds", "Time from a gRPC call's arrival to its end.")
}
