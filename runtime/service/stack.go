package service

import (
	"context"

	"pinion/runtime/predict"
	"pinion/runtime/slot"
)

// Stack says what a prediction in flight does: the Python stacks of its worker, in names and lines. The error is
// slot.ErrNotRunning unless a worker has the prediction.
func (s *Service) Stack(ctx context.Context, kind predict.Kind, id string) (string, error) {
	if p := s.registry.Get(kind, id); p != nil {
		if x, ok := p.Runner().(*execution); ok {
			if call := x.sent(); call != nil {
				return s.o.Pool.Stack(ctx, call)
			}
		}
	}
	return "", slot.ErrNotRunning
}
