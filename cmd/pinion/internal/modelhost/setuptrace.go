package modelhost

import (
	"slices"
	"sync"

	"pinion/ipc"
	"pinion/runtime/supervise"
	"pinion/runtime/trace"
)

// setupTrace traces the setups of one worker's processes, each in its own trace.
type setupTrace struct {
	tracer *trace.Tracer // nil means traces are off
	model  string        // "" means the server has one

	mu        sync.Mutex
	trace     *trace.Trace // of the process that was started last
	predictor trace.Context
}

// follow adds the trace to a worker's hooks.
func (s *setupTrace) follow(h *supervise.Hooks) {
	if s.tracer == nil {
		return
	}
	prepare, ended := h.Prepare, h.OnSetup
	h.Prepare = func(spec *ipc.WorkerConfig) error {
		s.begin(spec)
		return prepare(spec)
	}
	h.OnSetup = func(st supervise.SetupStatus) {
		s.end(st)
		ended(st)
	}
}

func (s *setupTrace) begin(spec *ipc.WorkerConfig) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trace = s.tracer.Root()
	s.predictor = s.trace.New()
	if spec.Tracing != nil { // shared by all workers
		own := *spec.Tracing
		own.Setup = s.predictor.Parent()
		spec.Tracing = &own
	}
}

func (s *setupTrace) end(st supervise.SetupStatus) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.trace == nil {
		return
	}
	var attrs trace.Attrs
	if s.model != "" {
		attrs = attrs.Text(trace.AttrModel, s.model)
	}
	setup := s.trace.Span("cog.setup", trace.Internal, trace.SpanID{}, st.Started, slices.Clip(attrs))
	predictor := s.trace.At(s.predictor, "cog.setup.predictor", trace.Internal, setup.Context.Span, st.Started,
		slices.Clip(attrs))
	predictor.Worker = true
	if st.Failed {
		const kind = "setup_failed"
		message := "the setup failed"
		if st.Problem != nil {
			message = st.Problem.What
		}
		for _, span := range []*trace.Span{setup, predictor} {
			span.Attrs = span.Attrs.Text("error.type", kind)
			span.Fail(st.Completed, kind, message)
		}
	}
	s.trace.End(predictor, st.Completed)
	s.trace.End(setup, st.Completed)
	s.trace = nil
}
