package service

import (
	"fmt"

	"pinion/runtime/memory"
	"pinion/runtime/predict"
	"pinion/runtime/slot"
)

// charge charges a worker's answer to the prediction; false: it does not fit into the memory budget, or what was yielded before
// did not. Then its memory is given back.
func (j *job) charge(r *slot.Result, result *predict.Result) bool {
	n := cap(r.Body) + len(result.Error)
	if !j.p.Told() { // else the prediction has charged them
		n += cap(r.Logs)
	}
	if !j.p.Overran() && (n < memory.Least || j.p.Afford(n)) {
		return true
	}
	if r.Release != nil {
		r.Release()
	}
	r.Body, r.Release, r.Logs = nil, nil, nil
	return false
}

// overBudget is the result of a prediction that the memory budget has no room for.
func (s *Service) overBudget(r *predict.Result) predict.Result {
	return predict.Result{
		Status: predict.Failed, Elapsed: r.Elapsed,
		Error: fmt.Sprintf("The prediction needs more memory than the server has left for it: its budget is %d MiB (--memory-budget), "+
			"and %d MiB of it are in use", s.o.Memory.Stats().Limit>>20, s.o.Memory.Stats().Used>>20),
	}
}

// take charges a new prediction to the memory budget, with what its input takes beside its body; the error is memory.ErrFull.
func (j *job) take() error {
	if !j.p.Take() {
		return memory.ErrFull
	}
	if made := cap(j.prepared.Input); made >= memory.Least && !aliases(j.prepared.Input, j.p.Request.Input) && !j.p.Afford(made) {
		j.p.GiveBack()
		return memory.ErrFull
	}
	return nil
}

// aliases tells whether part begins where whole does.
func aliases(part, whole []byte) bool {
	return len(part) > 0 && len(whole) > 0 && &part[0] == &whole[0]
}
